"""The games of a file, for the mode that watches."""

from collections.abc import Callable

from noughts_server.cli.screens.shown_game import ShownGame
from noughts_server.cli.screens.watch.mode import WatchSource


class RecordedGames(WatchSource):
    """Shows a game of a file from its opening on, and turns to its other games."""

    def __init__(self, number: int, game: ShownGame, find: Callable[[int], ShownGame | None]) -> None:
        """`find` returns the game at a position of the file, counted from 1; None if there is none."""
        super().__init__()
        self._number = number
        self._game = game
        self._find = find

    @property
    def game(self) -> ShownGame:
        return self._game

    @property
    def first_ply(self) -> int:
        return self._game.opening_plies

    def turn(self, step: int) -> bool:
        number = self._number + step
        game = self._find(number) if number > 0 else None
        if game is None:
            return False
        self._number = number
        self._game = game
        return True
