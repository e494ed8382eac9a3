"""A match of two: how its games count in the statistics, and which of them a test counts."""

from collections.abc import Iterable

from noughts_referee.work_units import FinishedGame
from noughts_server.local.plan import LocalPlan
from noughts_server.statistics.match_games import MatchGames, MatchStatistics, counted_game


class LocalMatch:
    """The games of a match of two that is played here. With more bots, nothing is counted.

    If there is a test, games are stored in the order of their slots, and none after the end of the test: what is
    stored, written and shown are the games that the test counts.
    """

    def __init__(self, plan: LocalPlan) -> None:
        self.games = MatchGames(plan.sprt)
        self._is_match = len(plan.specs) == 2
        self._variant = plan.settings.variant
        self._holds = plan.sprt is not None
        self._held: dict[int, FinishedGame] = {}
        self._passed = 0

    def recall(self, games: Iterable[FinishedGame]) -> None:
        """Count games that are stored."""
        if self._is_match:
            self.games.add({game.ordinal: counted_game(game, self._variant, base=1) for game in games})

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

    def statistics(self) -> MatchStatistics | None:
        return self.games.statistics() if self._is_match else None
