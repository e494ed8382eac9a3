"""Swiss tournaments: each round pairs entries with similar scores that have not met yet.

A bye counts as winning every game of an encounter. The pairing of a round is a perfect matching of the entries that
were not withdrawn, among the pairs that have not met, with the smallest sum of differences in points. If their number
is odd, the bye goes to one of those with the fewest points that had none yet and whose absence leaves such a matching.
Among such pairings the upper half of a score group meets its lower half, as in the Dutch system (FIDE Handbook C.04.3),
seed by seed. Every encounter has equal games on each side; the entry that began fewer encounters begins.

A tournament ends before its last round if no such pairing is left, which takes withdrawals or more rounds than half the
entries. Small fields look ahead, so that they play all rounds.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, permutations, takewhile

from noughts_server.competition.formats.rounds_by_points import (
    RoundsByPoints,
    rounds_done,
    scores,
    usual_rounds,
    with_sides,
)
from noughts_server.competition.formats.swiss_lookahead import LOOKAHEAD_SEATS, Lookahead, perfect_matchings
from noughts_server.competition.formats.tournament_format import FormatError, FormatSettings
from noughts_server.competition.pairing_batch import Field, PairingBatch

# Pairs at most this many places apart are tried first: enough in most rounds, and 0.5 s for 200 entries.
_NEARBY = 6
# In a score group, places on either side of the opposite one in its other half.
_FOLDED = 2
# The seat of the bye.
_BYE = -1


def most_rounds(entries: int) -> int:
    """Return the number of rounds after which every pair has met, and each of an odd number of entries had a bye."""
    return entries - 1 + entries % 2


class _Standing:
    """The possible pairs and their costs."""

    def __init__(self, field: Field) -> None:
        points = {entry: round(2 * score) for entry, score in enumerate(scores(field)) if entry not in field.withdrawn}
        order = sorted(points, key=lambda entry: (-points[entry], entry))
        self.order = order
        """The entries to pair, by points and seed, best first."""
        self._points = points
        """In half points."""
        self._met: dict[int, set[int]] = {entry: set() for entry in points}
        """Excluded partners of each entry: its opponents, and the bye."""
        met = [pair for encounter in field.played for pair in permutations(encounter[1:3])]
        for entry, other in [*met, *((entry, _BYE) for _, entry in field.byes)]:
            if entry in points:
                self._met[entry].add(other)
        self._places = {entry: place for place, entry in enumerate(order)}
        self._groups: dict[int, tuple[int, int]] = {}
        """The place in its score group, and the group's size."""
        for _, members in groupby(order, key=points.__getitem__):
            group = list(members)
            self._groups |= {entry: (place, len(group)) for place, entry in enumerate(group)}
        # Half a point of difference outweighs all costs within score groups, and the bye outweighs all differences.
        size = len(order)
        self._lowest = points[order[-1]] if order else 0
        self._gap_unit = size**3 + 1
        self._bye_unit = self._gap_unit * (size * (points[order[0]] - self._lowest if order else 0) + 1)

    def pairs(self, rounds_left: int) -> list[tuple[int, int]] | None:
        """Return the cheapest pairing, best pair first and the better of each pair first; None if there is none."""
        pairs = self._foresighted(rounds_left)
        if pairs is None:
            pairs = self._cheapest(_NEARBY)
            if pairs is None or not self._surely_minimal(pairs):
                pairs = self._cheapest(self._reach())
        if pairs is None:
            return None
        places = self._places | {_BYE: len(self.order)}
        ordered = [(one, other) if places[one] < places[other] else (other, one) for one, other in pairs]
        return sorted(ordered, key=lambda pair: places[pair[0]])

    def _may_meet(self, one: int, other: int) -> bool:
        return one != other and other not in self._met.get(one, ()) and one not in self._met.get(other, ())

    def _cost(self, one: int, other: int) -> int:
        if _BYE in (one, other):
            entry = max(one, other)
            return (self._points[entry] - self._lowest) * self._bye_unit + len(self.order) - 1 - self._places[entry]
        upper, lower = (one, other) if self._places[one] < self._places[other] else (other, one)
        gap = self._points[upper] - self._points[lower]
        (upper_place, size), (lower_place, _) = self._groups[upper], self._groups[lower]
        if gap:
            # The entry that leaves a group comes from its end and meets the best of the other.
            return gap * self._gap_unit + size - 1 - upper_place + lower_place
        return int((lower_place - upper_place - size // 2) ** 2)

    def _foresighted(self, rounds_left: int) -> Sequence[tuple[int, int]] | None:
        """Return the cheapest pairing that leaves all remaining rounds possible; None if not needed or not found."""
        seats = self.order + [_BYE] * (len(self.order) % 2)
        most_met = max(map(len, self._met.values()))
        # If every seat keeps half of the others as possible partners to the end, no round can fail (Dirac's theorem).
        if len(seats) > LOOKAHEAD_SEATS or len(seats) - most_met - rounds_left >= len(seats) / 2:
            return None
        allowed = {seat: {other for other in seats if self._may_meet(seat, other)} for seat in seats}
        pairings = sorted(perfect_matchings(allowed), key=lambda pairs: sum(self._cost(*pair) for pair in pairs))
        # Withdrawals can leave fewer possible rounds than wanted.
        rounds_left = min(rounds_left, *map(len, allowed.values()))
        lookahead = Lookahead()
        untried = takewhile(lambda _: not lookahead.exhausted, pairings)
        return next((pairs for pairs in untried if lookahead.leaves(allowed, pairs, rounds_left - 1)), None)

    def _cheapest(self, reach: int) -> Sequence[tuple[int, int]] | None:
        """Return the cheapest perfect matching of pairs at most `reach` places apart, and of halves of score groups."""
        # Imported here because it takes 0.3 s and only pairing needs it.
        import networkx

        pairs = [(one, other) for one, other in self._candidates(reach) if self._may_meet(one, other)]
        costs = [self._cost(*pair) for pair in pairs]
        if not costs:
            return None
        dearest = max(costs)
        graph: networkx.Graph[int] = networkx.Graph()
        graph.add_nodes_from(self.order)
        graph.add_weighted_edges_from((*pair, dearest - cost) for pair, cost in zip(pairs, costs, strict=True))
        matching = networkx.max_weight_matching(graph, maxcardinality=True)
        return sorted(matching) if 2 * len(matching) == len(self.order) + len(self.order) % 2 else None

    def _candidates(self, reach: int) -> Iterator[tuple[int, int]]:
        for place, entry in enumerate(self.order):
            last = min(place + reach, len(self.order) - 1)
            for other in range(place + 1, last + 1):
                yield entry, self.order[other]
            in_group, size = self._groups[entry]
            opposite = place + size // 2
            for other in range(max(opposite - _FOLDED, last + 1), min(opposite + _FOLDED + 1, place - in_group + size)):
                yield entry, self.order[other]
            if len(self.order) % 2:
                yield entry, _BYE

    def _surely_minimal(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Return whether the differences are minimal: as small as those of neighbours in the order of points."""
        bye = next((max(pair) for pair in pairs if _BYE in pair), None)
        if bye is not None and self._points[bye] > min(
            self._points[entry] for entry in self.order if self._may_meet(entry, _BYE)
        ):
            return False
        points = [self._points[entry] for entry in self.order if entry != bye]
        least = sum(points[::2]) - sum(points[1::2])
        return least == sum(
            abs(self._points[one] - self._points[other]) for one, other in pairs if _BYE not in (one, other)
        )

    def _reach(self) -> int:
        """Return how many places apart the pairs of some minimal pairing are at most.

        Let a and b be paired with d - 1 others between them. Exchanging partners with a pair that has a member between
        them, the right way round, increases no difference in points and brings the pairs closer in places, unless it
        makes a rematch. a and b met at most r others each, which spoils at most 2r of these pairs, and there are at
        least (d - 1) / 2 of them: if d > 4r + 1, there is an exchange. The entry with the bye can also be between them.
        """
        return 4 * max(map(len, self._met.values())) + 2


class Swiss(RoundsByPoints):
    """Bots with similar scores meet, and no two of them twice."""

    number = 3
    title = "Swiss"
    summary = "each round pairs bots with similar scores that have not met yet"

    def check_entries(self, entries: int, settings: FormatSettings) -> None:
        most = most_rounds(entries)
        if settings.rounds > most:
            possible = f"{entries} entries can play {most} {'round' if most == 1 else 'rounds'} without a rematch"
            raise FormatError("rounds", settings.rounds, f"at most {most}", f"{possible}; a round robin can have more")

    def check_extension(self, entries: int, settings: FormatSettings, rounds: int) -> int:
        before = settings.rounds or usual_rounds(entries)
        most = most_rounds(entries)
        if before + rounds > most:
            why = f"{entries} entries can play {most} rounds without a rematch, and the tournament has {before}"
            raise FormatError("rounds", rounds, f"at most {max(0, most - before)} more", why)
        return before + rounds

    def caution(self, entries: int, settings: FormatSettings) -> str:
        """Return a warning if a large field could run out of pairings: more rounds than half the entries."""
        seats = entries + entries % 2
        if seats <= LOOKAHEAD_SEATS or settings.rounds <= seats // 2:
            return ""
        return (
            f"{settings.rounds} rounds are more than half of {entries} bots: a Swiss ends early if no round is left in"
            " which no two bots meet again. A round robin has every pair"
        )

    def next_wave(self, field: Field) -> PairingBatch | None:
        """Return the next round; None after the last, or if no pairing is left."""
        done = rounds_done(field)
        rounds = field.rounds or usual_rounds(field.entries)
        standing = _Standing(field)
        if done >= rounds or len(standing.order) < 2:
            return None
        pairs = standing.pairs(rounds - done)
        if pairs is None:
            return None
        meetings = [pair for pair in pairs if _BYE not in pair]
        byes = tuple(max(pair) for pair in pairs if _BYE in pair)
        return PairingBatch(done + 1, with_sides(meetings, field, done + 1), field.games, byes)


SWISS = Swiss()
