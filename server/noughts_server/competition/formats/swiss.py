"""Swiss tournaments: each round pairs entries with similar scores that have not met yet.

The pairing of a round is a perfect matching of the entries that are not withdrawn. It contains only pairs that have not
met yet, and has the smallest sum of differences in points. Among the pairings with this sum, the upper half of a score
group meets its lower half, as in the Dutch system (FIDE Handbook C.04.3), seed by seed.

If the number of entries is odd, one of them has a bye, which counts as winning every game of a pairing. An entry can
get the bye if it has had none and the other entries have such a matching. Among these, one with the fewest points gets
it. In every pairing each entry begins half of the games; the entry that has begun fewer pairings begins.

A tournament ends before its last round if no such pairing is left. This can happen after withdrawals, or if there are
more rounds than half the entries. Small fields look ahead, so that they can play all rounds.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile

from noughts_server.competition.formats.rounds_by_points import (
    RoundsByPoints,
    assign_sides,
    points_of,
    rounds_done,
    usual_rounds,
)
from noughts_server.competition.formats.swiss_lookahead import LOOKAHEAD_SEATS, Lookahead, perfect_matchings
from noughts_server.competition.formats.tournament_format import FormatError, FormatSettings
from noughts_server.competition.pairing_batch import Field, PairingBatch
from noughts_server.core.messages import N_

_NEARBY = 6
"""Pairs at most this many places apart are tried first: they suffice in most rounds, and take 0.5 s for 200 entries."""
_NEAR_OPPOSITE = 2
"""In a score group, an entry is tried with this many places on either side of the opposite one in the other half."""
_BYE = -1
"""The seat of the bye: an entry that is paired with it has the bye."""


def most_rounds(entries: int) -> int:
    """Return the number of rounds after which every pair has met and, with an odd number, each entry has had a bye."""
    return entries - 1 + entries % 2


class _RoundPairing:
    """The pairing of one round: the possible pairs with their costs, and the search for the cheapest pairing."""

    def __init__(self, field: Field) -> None:
        points = {
            entry: round(2 * score) for entry, score in enumerate(points_of(field)) if entry not in field.withdrawn
        }
        order = sorted(points, key=lambda entry: (-points[entry], entry))
        self.order = order
        """The entries to pair, by points and seed, best first."""
        self._points = points
        """Points by entry, in half points."""
        self._met: dict[int, set[int]] = {entry: set() for entry in points}
        """The excluded partners of each entry: its opponents so far, and the bye if it has had one."""
        for pairing in field.played:
            if pairing.first in points:
                self._met[pairing.first].add(pairing.second)
            if pairing.second in points:
                self._met[pairing.second].add(pairing.first)
        for _, entry in field.byes:
            if entry in points:
                self._met[entry].add(_BYE)
        self._places = {entry: place for place, entry in enumerate(order)}
        self._groups: dict[int, tuple[int, int]] = {}
        """The place of each entry in its score group, and the group's size."""
        for _, members in groupby(order, key=points.__getitem__):
            group = list(members)
            self._groups |= {entry: (place, len(group)) for place, entry in enumerate(group)}
        # The units make half a point of difference cost more than all pairs within score groups, and half a point of
        # the entry with the bye more than all differences.
        size = len(order)
        self._lowest = points[order[-1]] if order else 0
        self._gap_unit = size**3 + 1
        self._bye_unit = self._gap_unit * (size * (points[order[0]] - self._lowest if order else 0) + 1)

    def pairs(self, rounds_left: int) -> list[tuple[int, int]] | None:
        """Return the cheapest pairing, with the best pair and the better entry of each pair first; None without any."""
        pairs = self._pairs_with_lookahead(rounds_left)
        if pairs is None:
            pairs = self._cheapest(_NEARBY)
            if pairs is None or not self._is_surely_minimal(pairs):
                pairs = self._cheapest(self._reach())
        if pairs is None:
            return None
        places = self._places | {_BYE: len(self.order)}
        ordered = [(one, other) if places[one] < places[other] else (other, one) for one, other in pairs]
        return sorted(ordered, key=lambda pair: places[pair[0]])

    def _may_meet(self, one: int, other: int) -> bool:
        return one != other and other not in self._met.get(one, ()) and one not in self._met.get(other, ())

    def _cost(self, one: int, other: int) -> int:
        """Return the cost of a pair: for the bye, for a difference in points, or for the places in a score group."""
        if _BYE in (one, other):
            entry = max(one, other)
            return (self._points[entry] - self._lowest) * self._bye_unit + len(self.order) - 1 - self._places[entry]
        upper, lower = (one, other) if self._places[one] < self._places[other] else (other, one)
        gap = self._points[upper] - self._points[lower]
        (upper_place, size), (lower_place, _) = self._groups[upper], self._groups[lower]
        if gap:
            # The entry that leaves the upper group should be its last one, and meet the best one of the lower group.
            return gap * self._gap_unit + size - 1 - upper_place + lower_place
        # The n-th entry of the upper half should meet the n-th entry of the lower half.
        return int((lower_place - upper_place - size // 2) ** 2)

    def _pairs_with_lookahead(self, rounds_left: int) -> Sequence[tuple[int, int]] | None:
        """Return the cheapest pairing after which all remaining rounds are possible.

        None if the field is large, if every pairing leaves all rounds possible, or if no such pairing is found.
        """
        seats = self.order + [_BYE] * (len(self.order) % 2)
        most_met = max(map(len, self._met.values()))
        # If every seat has at least half of all seats as possible partners in each round, no round can fail (Dirac's
        # theorem).
        if len(seats) > LOOKAHEAD_SEATS or len(seats) - most_met - rounds_left >= len(seats) / 2:
            return None
        allowed = {seat: {other for other in seats if self._may_meet(seat, other)} for seat in seats}
        pairings = sorted(perfect_matchings(allowed), key=lambda pairs: sum(self._cost(*pair) for pair in pairs))
        # After withdrawals, there can be fewer possible rounds than the tournament has left.
        rounds_left = min(rounds_left, *map(len, allowed.values()))
        lookahead = Lookahead()
        untried = takewhile(lambda _: not lookahead.is_exhausted, pairings)
        return next((pairs for pairs in untried if lookahead.can_follow(allowed, pairs, rounds_left - 1)), None)

    def _cheapest(self, reach: int) -> Sequence[tuple[int, int]] | None:
        """Return the cheapest perfect matching of `_candidates`; None if there is none."""
        # The import takes 0.3 s, and only pairing needs it.
        import networkx

        pairs = [(one, other) for one, other in self._candidates(reach) if self._may_meet(one, other)]
        costs = [self._cost(*pair) for pair in pairs]
        if not costs:
            return None
        highest_cost = max(costs)
        graph: networkx.Graph[int] = networkx.Graph()
        graph.add_nodes_from(self.order)
        graph.add_weighted_edges_from((*pair, highest_cost - cost) for pair, cost in zip(pairs, costs, strict=True))
        matching = networkx.max_weight_matching(graph, maxcardinality=True)
        return sorted(matching) if 2 * len(matching) == len(self.order) + len(self.order) % 2 else None

    def _candidates(self, reach: int) -> Iterator[tuple[int, int]]:
        """Yield pairs at most `reach` places apart, pairs near the opposite place of a score group, and the byes."""
        for place, entry in enumerate(self.order):
            last = min(place + reach, len(self.order) - 1)
            for other in range(place + 1, last + 1):
                yield entry, self.order[other]
            in_group, size = self._groups[entry]
            opposite = place + size // 2
            end_of_group = place - in_group + size
            nearest = max(opposite - _NEAR_OPPOSITE, last + 1)
            for other in range(nearest, min(opposite + _NEAR_OPPOSITE + 1, end_of_group)):
                yield entry, self.order[other]
            if len(self.order) % 2:
                yield entry, _BYE

    def _is_surely_minimal(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Return whether no pairing can have smaller differences: their sum is that of neighbours in the order."""
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
        """Return a number of places that the pairs of some cheapest pairing are at most apart.

        Proof: let a and b be paired, d places apart. Take another pair with a member between them, and exchange
        partners so that the pairs come closer in places. This increases no difference in points. It is possible unless
        it makes a rematch. a and b have met at most r others each, so at most 2r of these pairs are excluded. There are
        at least (d - 1) / 2 of these pairs, so for d > 4r + 1 an exchange is possible. One more place is for the entry
        with the bye, which can be between a and b.
        """
        return 4 * max(map(len, self._met.values())) + 2


class Swiss(RoundsByPoints):
    """Bots with similar scores meet, and no two bots meet twice."""

    number = 3
    title = N_("Swiss")
    summary = N_("each round pairs bots with similar scores that have not met yet")

    def check_entries(self, entries: int, settings: FormatSettings) -> None:
        most = most_rounds(entries)
        if settings.rounds > most:
            possible = f"{entries} entries can play {most} {'round' if most == 1 else 'rounds'} without a rematch"
            raise FormatError("rounds", settings.rounds, f"at most {most}", f"{possible}; a round robin can have more")

    def check_extension(self, entries: int, settings: FormatSettings, rounds: int) -> int:
        rounds_so_far = settings.rounds or usual_rounds(entries)
        most = most_rounds(entries)
        if rounds_so_far + rounds > most:
            why = f"{entries} entries can play {most} rounds without a rematch, and the tournament has {rounds_so_far}"
            raise FormatError("rounds", rounds, f"at most {max(0, most - rounds_so_far)} more", why)
        return rounds_so_far + rounds

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
        pairing = _RoundPairing(field)
        if done >= rounds or len(pairing.order) < 2:
            return None
        pairs = pairing.pairs(rounds - done)
        if pairs is None:
            return None
        meetings = [pair for pair in pairs if _BYE not in pair]
        byes = tuple(max(pair) for pair in pairs if _BYE in pair)
        pairings = assign_sides(meetings, field, done + 1)
        return PairingBatch(round=done + 1, pairings=pairings, games=field.games, byes=byes)


SWISS = Swiss()
