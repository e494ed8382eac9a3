"""The mode that shows a live or finished game, ply by ply: the newest position, or an earlier one."""

from abc import abstractmethod

from textual import events

from noughts_referee.rules import cell_name
from noughts_server.cli.screens.board_mode import BoardMode
from noughts_server.cli.screens.shown_game import MoveSource, ShownGame

_STEPS = {"left": -1, "right": 1, "up": -10, "down": 10, "pageup": -10, "pagedown": 10, "space": 1, "backspace": -1}
_TENTHS_BELOW_MS = 10
"""Thinking times below this number of milliseconds have a decimal."""


class WatchSource(MoveSource):
    """Supplies games to watch, of which one is shown."""

    @property
    @abstractmethod
    def first_ply(self) -> int | None:
        """The number of moves on the board when the game is first shown; None: always the newest."""

    @abstractmethod
    def turn(self, step: int) -> bool:
        """Show the next game (1) or the previous one (-1), and return whether there is one."""


class WatchMode(BoardMode):
    """Shows a game of a source, and steps through its moves."""

    key_line = "←→ a ply  ↑↓ ten  Home End  p n game before, after  q quit"

    def __init__(self, source: WatchSource, *, overview: bool = False) -> None:
        """`overview`: whether Escape leads back to a mode with all games."""
        super().__init__(source)
        if overview:
            self.key_line = "Esc all games  ←→ ply  ↑↓ ten  Home End  p n game  q quit"
        self._games = source
        self._has_overview = overview
        self._ply = source.first_ply
        """The number of moves on the board; None: always the newest."""

    @property
    def shows_earlier_position(self) -> bool:
        """Whether the board shows another position than the newest."""
        return self._ply is not None

    def draw(self, game: ShownGame) -> None:
        position = game if self._ply is None else game.at_ply(self._ply)
        self.draw_game(position, None)
        self.write(game.status, self._games.notice or _ply_line(position, len(game.moves)))
        if position.moves:
            self.follow(position.moves[-1])

    def on_key(self, event: events.Key) -> None:
        event.stop()
        key = event.key
        if key == "escape" and self._has_overview:
            self.app.pop_screen()
        elif key in ("q", "escape"):
            self.action_leave()
        elif key in ("n", "p"):
            self._turn(1 if key == "n" else -1)
        elif key in ("home", "end"):
            self._go(0 if key == "home" else len(self._games.game.moves))
        elif key in _STEPS:
            newest = len(self._games.game.moves)
            self._go((newest if self._ply is None else self._ply) + _STEPS[key])

    def _turn(self, step: int) -> None:
        if not self._games.turn(step):
            self.app.bell()
            return
        self._ply = self._games.first_ply
        self.show()

    def _go(self, ply: int) -> None:
        game = self._games.game
        self._ply = max(0, min(len(game.moves), ply))
        if self._ply == len(game.moves) and not game.over:
            # The newest move of a live game: follow the next ones, too.
            self._ply = None
        self.show()


def _ply_line(game: ShownGame, all_plies: int) -> str:
    """Return the number of the last move on the board, the move itself, and its thinking time if known."""
    ply = len(game.moves)
    if not ply:
        return f"ply 0 of {all_plies}"
    mark = game.players[(ply - 1) % 2].mark
    text = f"ply {ply} of {all_plies}: {mark} {cell_name(game.variant, game.moves[-1])}"
    if ply <= game.opening_plies:
        return f"{text}, opening"
    if ply > len(game.times_ms):
        return text
    time_ms = game.times_ms[ply - 1]
    decimals = 1 if time_ms < _TENTHS_BELOW_MS else 0
    return f"{text}, {time_ms:,.{decimals}f} ms"
