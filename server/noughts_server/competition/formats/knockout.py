"""Knockouts: the loser of each match is out, and the winner of the final wins.

The bracket is that of seeded tournaments: as many places as the next power of two, seed 1 at its top and seed 2 at its
bottom. So these can meet only in the final, seeds 1 to 4 only from the semifinals on, and so on. The best seeds have
byes in the first round if places stay empty. There are always `entries - 1` matches.

A match is over when all its games are and one side has more points. If points are equal, up to `EXTRA_PAIRS` pairs of
games with swapped colours follow, until one is won. After these, the side with fewer forfeits advances, then the better
seed. A withdrawn side loses the match that it has not won yet; of two such sides the one that left later advances, or
the better seed if they left together.
"""

from collections.abc import Callable, Sequence
from math import inf

from noughts_server.competition.bracket import BracketRound, Decision, Match
from noughts_server.competition.forecast import Forecast
from noughts_server.competition.formats.tournament_format import FormatSettings, InRounds
from noughts_server.competition.pairing_batch import Encounter, Field, PairingBatch, Played

EXTRA_PAIRS = 4
"""The maximal number of extra pairs of games after equal points."""


def seed_places(rounds: int) -> list[int]:
    """Return the seeds (from 0) of a bracket of so many rounds, from its top to its bottom.

    Each round extends the bracket: every seed meets the one with which its sum is constant.
    """
    places = [0]
    for _ in range(rounds):
        size = 2 * len(places)
        # The better seed of a pair is on the outside, so that the second seed is at the bottom.
        places = [
            seed
            for place, better in enumerate(places)
            for seed in ((better, size - 1 - better) if place % 2 == 0 else (size - 1 - better, better))
        ]
    return places


def bracket(field: Field) -> tuple[BracketRound, ...]:
    """Return all matches, with byes, by rounds, each from the top of the bracket to its bottom."""
    count = (field.entries - 1).bit_length()
    advancing = [seed if seed < field.entries else None for seed in seed_places(count)]
    played: dict[tuple[int, frozenset[int]], list[Played]] = {}
    for encounter in field.played:
        played.setdefault((encounter.round, frozenset(encounter[1:3])), []).append(encounter)
    rounds: list[BracketRound] = []
    for number in range(1, count + 1):
        matches = []
        for first, second in zip(advancing[::2], advancing[1::2], strict=True):
            if number == 1 and (first is None or second is None):
                alone = second if first is None else first
                matches.append(Match(number, first, second, winner=alone, decision=Decision.BYE))
            elif first is None or second is None:
                matches.append(Match(number, first, second))
            else:
                encounters = played.get((number, frozenset((first, second))), [])
                matches.append(_match(field, number, first, second, encounters))
        advancing = [match.winner for match in matches]
        rounds.append(tuple(matches))
    return tuple(rounds)


def _encounter(match: Match[int]) -> Encounter:
    """Return the next encounter of a match: the better seed begins, and extra pairs begin in turn."""
    assert match.first is not None
    assert match.second is not None
    better, other = sorted((match.first, match.second))
    return Encounter(other, better) if match.games // 2 % 2 else Encounter(better, other)


def _match(field: Field, number: int, first: int, second: int, encounters: Sequence[Played]) -> Match[int]:
    points = {first: 0.0, second: 0.0}
    forfeits = {first: 0, second: 0}
    games = 0
    for encounter in encounters:
        points[encounter.first] += encounter.first_points
        points[encounter.second] += encounter.second_points
        forfeits[encounter.first] += encounter.first_forfeits
        forfeits[encounter.second] += encounter.second_forfeits
        games += encounter.games
    winner, decision = _decide(field, games, points, forfeits)
    if winner is None and not field.withdrawn.keys().isdisjoint((first, second)):
        winner = max((first, second), key=lambda entry: (field.withdrawn.get(entry, inf), -entry))
        decision = Decision.WALKOVER
    return Match(
        round=number,
        first=first,
        second=second,
        first_points=points[first],
        second_points=points[second],
        games=games,
        winner=winner,
        decision=decision,
    )


def _decide(
    field: Field, games: int, points: dict[int, float], forfeits: dict[int, int]
) -> tuple[int | None, Decision | None]:
    leader = max(points, key=lambda entry: points[entry])
    other = next(entry for entry in points if entry != leader)
    lead = points[leader] - points[other]
    left = field.games - games
    if lead > 0 and (left <= 0 or (field.stop_when_decided and lead > left)):
        return leader, Decision.EXTRA_PAIR if left < 0 else Decision.POINTS
    if left > -2 * EXTRA_PAIRS:
        return None, None
    if forfeits[leader] != forfeits[other]:
        return min(points, key=lambda entry: forfeits[entry]), Decision.FORFEITS
    return min(points), Decision.SEED


class Knockout(InRounds):
    """The loser of each match is out; the winner of the final wins the tournament."""

    number = 4
    title = "Knockout"
    summary = "the loser of a match is out"
    own_settings = frozenset({"stop_when_decided"})
    places_by_bracket = True

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        games = settings.games_per_pair
        rounds = (entries - 1).bit_length()
        # A match that stops when decided ends as soon as the lead is larger than what is left.
        quickest = min(2 * (games // 4 + 1), games) if settings.stop_when_decided else games
        matches = [min(2**left, entries - 2**left) for left in range(rounds - 1, -1, -1)]
        most = (entries - 1) * (games + 2 * EXTRA_PAIRS)
        return Forecast(entries, rounds, (entries - 1) * quickest, most, tuple(each * games for each in matches))

    def next_wave(self, field: Field) -> PairingBatch | None:
        """Return the encounters of all matches of the first unfinished round; None after the final.

        Tied matches are paired again in the same round, once all encounters of the round are over.
        """
        for matches in bracket(field):
            open_matches = [match for match in matches if match.open]
            if not open_matches:
                continue
            number = open_matches[0].round
            fresh = not any(encounter.round == number for encounter in field.played)
            # A new match is paired in full length; continued ones pair by pair.
            games = field.games if not field.stop_when_decided and fresh else 2
            byes = [match.winner for match in matches if match.decision is Decision.BYE and match.winner is not None]
            return PairingBatch(
                number, tuple(map(_encounter, open_matches)), games, tuple(sorted(byes)) if fresh else ()
            )
        return None

    def bracket(self, read: Callable[[], Field]) -> tuple[BracketRound, ...]:
        return bracket(read())


KNOCKOUT = Knockout()
