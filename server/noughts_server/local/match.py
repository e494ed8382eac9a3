"""A match of two: how its games count in the statistics, and which of them a test counts."""

from collections.abc import Iterable

from noughts_referee.rules import FAULTS, Result, parse_variant
from noughts_referee.work_units import FinishedGame, pack_moves
from noughts_server.local.plan import LocalPlan
from noughts_server.statistics.match_games import MatchGame, MatchGames

# By result: what the first mover has of it, and what the other has.
_POINTS: dict[int, tuple[float | None, float | None]] = {
    Result.FIRST_WINS: (1.0, 0.0),
    Result.DRAW: (0.5, 0.5),
    Result.SECOND_WINS: (0.0, 1.0),
    Result.VOID: (None, None),
}


def match_game(result: int, termination: int, side: int, moves: bytes, opening: bytes) -> MatchGame:
    """A game, as it is stored, as it counts for the player on a side, 0 or 1; `opening` holds the first of the moves.

    A fault is no move that would be made again: what crashes or is late is chance, so such games are never repetitions.
    """
    return MatchGame(_POINTS[result][side], opening, None if termination in FAULTS else moves)


def opening_of(game: FinishedGame, variant: str) -> bytes:
    """Return those of the game's moves that were given when it began; stones by agreement are the bots' own."""
    if not game.opening_plies:
        return b""
    played = parse_variant(variant)
    return game.moves[: played.given_plies(game.opening_plies) * len(pack_moves([0], played.cells))]


class LocalMatch:
    """The games of a match of two that is played here.

    If there is a test, games are stored in the order of their slots, and none after the end of the test: what is
    stored, written and shown are the games that the test counts.
    """

    def __init__(self, plan: LocalPlan) -> None:
        self.games = MatchGames(plan.sprt)
        self._variant = plan.settings.variant
        self._holds = plan.sprt is not None
        self._held: dict[int, FinishedGame] = {}
        self._passed = 0

    def recall(self, games: Iterable[FinishedGame]) -> None:
        """Count games that are stored."""
        # The first of the two labels is the entry with the number 0.
        counts = {
            game.ordinal: match_game(
                game.result, game.termination, game.first != 0, game.moves, opening_of(game, self._variant)
            )
            for game in games
        }
        self.games.add(counts)

    def admit(self, games: list[FinishedGame]) -> list[FinishedGame]:
        """Count games that have ended; return those to store now."""
        self.recall(games)
        if not self._holds:
            return games
        self._held.update((game.ordinal, game) for game in games)
        before, self._passed = self._passed, self.games.known
        places = range(before + 1, self._passed + 1)
        return [self._held.pop(place) for place in places if place in self._held]

    def counts(self, ordinal: int) -> bool:
        """Return whether the game of this slot does not come after the end of the test."""
        return not self.games.over or ordinal <= self.games.known

    def release(self) -> list[FinishedGame]:
        """Return the games that wait for earlier ones, for a run that was stopped; none if the test ended it."""
        if self.games.over:
            return []
        self._holds = False
        return list(self._held.values())
