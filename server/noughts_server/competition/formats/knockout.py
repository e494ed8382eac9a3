"""Knockouts: the loser of each match is out, and the winner of the final wins.

The bracket is that of seeded tournaments. Its number of places is the next power of two. Seed 1 is at its top and seed
2 at its bottom, so these two can meet only in the final, seeds 1 to 4 only from the semifinals on, and so on. If places
are empty, the best seeds have byes in the first round. There are always `entries - 1` matches.

A match is over when all its games are over and one side has more points. If points are equal, up to `EXTRA_PAIRS` pairs
of games with swapped sides follow, until one side wins a pair. After these, the side with fewer forfeits advances, then
the better seed. A withdrawn side loses a match that it has not won yet. If both sides are withdrawn, the one that left
later advances, or the better seed if they left together.
"""

from collections.abc import Callable, Sequence
from math import inf

from noughts_server.competition.bracket import BracketRound, Decision, Match
from noughts_server.competition.forecast import Forecast, Wave
from noughts_server.competition.formats.tournament_format import FormatSettings, InRounds
from noughts_server.competition.pairing_batch import Field, Pairing, PairingBatch, PlayedPairing, UnfinishedPairing
from noughts_server.core.messages import N_

EXTRA_PAIRS = 4
"""The maximal number of extra pairs of games after equal points."""

_LEFT_AT_LAST = -2 * EXTRA_PAIRS
"""The number of scheduled games that are left after all extra pairs: extra games count below 0."""


def seed_places(rounds: int) -> list[int]:
    """Return the seeds (from 0) of a bracket with this number of rounds, from its top to its bottom.

    A bracket for twice as many entries has a pair in the place of each seed: the seed meets the new seed with which its
    sum is the number of entries minus 1.
    """
    places = [0]
    for _ in range(rounds):
        size = 2 * len(places)
        # The better seed of a pair is on the outside, so that the second seed is at the bottom.
        pairs = [
            (better, size - 1 - better) if place % 2 == 0 else (size - 1 - better, better)
            for place, better in enumerate(places)
        ]
        places = [seed for pair in pairs for seed in pair]
    return places


def bracket(field: Field) -> tuple[BracketRound, ...]:
    """Return all rounds of the bracket, including byes and matches whose sides are unknown."""
    count = (field.entries - 1).bit_length()
    advancing = [seed if seed < field.entries else None for seed in seed_places(count)]
    played: dict[tuple[int, frozenset[int]], list[PlayedPairing]] = {}
    for pairing in field.played:
        sides = frozenset((pairing.first, pairing.second))
        played.setdefault((pairing.round, sides), []).append(pairing)
    unfinished = {
        (pairing.so_far.round, frozenset((pairing.so_far.first, pairing.so_far.second))): pairing
        for pairing in field.unfinished
    }
    rounds: list[BracketRound] = []
    for number in range(1, count + 1):
        matches = []
        for first, second in zip(advancing[::2], advancing[1::2], strict=True):
            if number == 1 and (first is None or second is None):
                winner = second if first is None else first
                matches.append(Match(number, first, second, winner=winner, decision=Decision.BYE))
            elif first is None or second is None:
                matches.append(Match(number, first, second))
            else:
                key = (number, frozenset((first, second)))
                match = _match(field, number, first, second, played.get(key, []))
                matches.append(_with_games_so_far(match, unfinished[key]) if key in unfinished else match)
        advancing = [match.winner for match in matches]
        rounds.append(tuple(matches))
    return tuple(rounds)


def _pairing(match: Match[int]) -> Pairing:
    """Return the next pairing of a match. The better seed begins the first one; then the sides take turns."""
    assert match.first is not None
    assert match.second is not None
    better, other = sorted((match.first, match.second))
    pairs_played = match.games // 2
    return Pairing(other, better) if pairs_played % 2 else Pairing(better, other)


def _match(field: Field, number: int, first: int, second: int, pairings: Sequence[PlayedPairing]) -> Match[int]:
    """Return the match of these two entries in round `number`, from its pairings so far."""
    points = {first: 0.0, second: 0.0}
    forfeits = {first: 0, second: 0}
    games = 0
    for pairing in pairings:
        points[pairing.first] += pairing.first_points
        points[pairing.second] += pairing.second_points
        forfeits[pairing.first] += pairing.first_forfeits
        forfeits[pairing.second] += pairing.second_forfeits
        games += pairing.games
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


def _with_games_so_far(match: Match[int], pairing: UnfinishedPairing) -> Match[int]:
    """Return the match with the games of its unfinished pairing, which do not decide it yet."""
    points = {
        pairing.so_far.first: pairing.so_far.first_points,
        pairing.so_far.second: pairing.so_far.second_points,
    }
    assert match.first is not None
    assert match.second is not None
    return match._replace(
        first_points=match.first_points + points[match.first],
        second_points=match.second_points + points[match.second],
        games=match.games + pairing.so_far.games,
        games_left=pairing.games_left,
        next_game=pairing.next_game,
    )


def _decide(
    field: Field, games: int, points: dict[int, float], forfeits: dict[int, int]
) -> tuple[int | None, Decision | None]:
    """Return the winner and the reason by the games so far, or None for both; withdrawals do not count here.

    `points` and `forfeits` have the values of both sides.
    """
    leader = max(points, key=lambda entry: points[entry])
    other = next(entry for entry in points if entry != leader)
    lead = points[leader] - points[other]
    games_left = field.games - games
    if lead > 0 and (games_left <= 0 or (field.stop_when_decided and lead > games_left)):
        return leader, Decision.EXTRA_PAIR if games_left < 0 else Decision.POINTS
    if games_left > _LEFT_AT_LAST:
        return None, None
    if forfeits[leader] != forfeits[other]:
        return min(points, key=lambda entry: forfeits[entry]), Decision.FORFEITS
    return min(points), Decision.SEED


class Knockout(InRounds):
    """The loser of each match is out; the winner of the final wins the tournament."""

    number = 4
    title = N_("Knockout")
    summary = N_("the loser of a match is out")
    own_settings = frozenset({"stop_when_decided"})
    places_by_bracket = True

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        games = settings.games_per_pair
        rounds = (entries - 1).bit_length()
        # With `stop_when_decided`, a match ends with the first pair of games after which the lead is larger than the
        # number of games that are left: at the earliest after more than half of them.
        fewest = min(2 * (games // 4 + 1), games) if settings.stop_when_decided else games
        # A round before `later` further rounds has 2**later matches, or fewer in the first round if there are byes.
        matches = [min(2**later, entries - 2**later) for later in range(rounds - 1, -1, -1)]
        return Forecast(
            entries=entries,
            rounds=rounds,
            least=(entries - 1) * fewest,
            most=(entries - 1) * (games + 2 * EXTRA_PAIRS),
            waves=tuple(Wave(count * games, count) for count in matches),
        )

    def next_wave(self, field: Field) -> PairingBatch | None:
        """Return the pairings of all matches of the first unfinished round; None after the final.

        Tied matches are paired again in the same round. The caller calls it when all pairings so far are over.
        """
        for matches in bracket(field):
            open_matches = [match for match in matches if match.is_open]
            if not open_matches:
                continue
            number = open_matches[0].round
            is_new_round = not any(pairing.round == number for pairing in field.played)
            # A new match gets all its games at once, a tied match one extra pair of games.
            games = field.games if not field.stop_when_decided and is_new_round else 2
            byes = [match.winner for match in matches if match.decision is Decision.BYE and match.winner is not None]
            return PairingBatch(
                round=number,
                pairings=tuple(map(_pairing, open_matches)),
                games=games,
                byes=tuple(sorted(byes)) if is_new_round else (),
            )
        return None

    def bracket(self, read: Callable[[], Field]) -> tuple[BracketRound, ...]:
        return bracket(read())


KNOCKOUT = Knockout()
