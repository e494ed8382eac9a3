"""The screen that steps through a recorded game, ply by ply."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.widgets import Static

from noughts_referee.rules import Variant, cell_name
from noughts_server.play.drawing import Scene
from noughts_server.play.widgets import Board

_WON = "#1e7f3a"  # dark enough for white letters
_STEPS = {"left": -1, "right": 1, "up": -10, "down": 10, "pageup": -10, "pagedown": 10, "space": 1, "backspace": -1}
_KEYS = "←→ a ply  ↑↓ ten  Home End  p n game before, after  q quit"


@dataclass(frozen=True, slots=True)
class ReplayedGame:
    title: str
    """The players and the result."""
    variant: Variant
    moves: tuple[int, ...]
    opening_plies: int = 0
    times_ms: tuple[float, ...] = ()
    winning: frozenset[int] = frozenset()


class ReplayScreen(App[None]):
    """Shows a game in a file, and moves to its other games."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "replay_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True)]

    def __init__(self, number: int, game: ReplayedGame, find: Callable[[int], ReplayedGame | None]) -> None:
        """`find` returns the game at a position of the file, counted from 1; None if there is none."""
        super().__init__()
        self._number = number
        self._game = game
        self._find = find
        self._ply = game.opening_plies
        """The number of moves on the board."""

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        room = ScrollableContainer(Board(self._game.variant), id="room")
        room.can_focus = False
        yield room
        yield Static(id="ply")
        yield Static(Text(_KEYS, no_wrap=True, overflow="ellipsis"), id="keys")

    def on_mount(self) -> None:
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        self._show()

    def on_key(self, event: events.Key) -> None:
        key = event.key
        if key in ("q", "escape"):
            self.exit()
        elif key in ("n", "p"):
            self._turn_to(self._number + (1 if key == "n" else -1))
        elif key in ("home", "end"):
            self._go(0 if key == "home" else len(self._game.moves))
        elif key in _STEPS:
            self._go(self._ply + _STEPS[key])

    def _turn_to(self, number: int) -> None:
        game = self._find(number) if number > 0 else None
        if game is None:
            self.bell()
            return
        self._number = number
        self._game = game
        self._ply = game.opening_plies
        self._show()

    def _go(self, ply: int) -> None:
        self._ply = max(0, min(len(self._game.moves), ply))
        self._show()

    def _show(self) -> None:
        game, ply = self._game, self._ply
        board = self.query_one(Board)
        room = self.query_one("#room").size
        if room.width:
            board.fit(game.variant, (room.width, room.height))
        at_end = ply == len(game.moves)
        stones = {cell: "XO"[number & 1] for number, cell in enumerate(game.moves[:ply])}
        winning = game.winning if at_end else frozenset()
        board.show(Scene(stones, last=game.moves[ply - 1] if ply else None, winning=winning, winning_colour=_WON))
        title = Text(f"Game {self._number}: {game.title}", no_wrap=True, overflow="ellipsis")
        self.query_one("#title", Static).update(title)
        self.query_one("#ply", Static).update(Text(self._told(), no_wrap=True, overflow="ellipsis"))

    def _told(self) -> str:
        game, ply = self._game, self._ply
        if not ply:
            return f"ply 0 of {len(game.moves)}"
        text = f"ply {ply} of {len(game.moves)}: {'XO'[~ply & 1]} {cell_name(game.variant, game.moves[ply - 1])}"
        if ply <= game.opening_plies:
            return f"{text}, opening"
        return f"{text}, {game.times_ms[ply - 1]:,.0f} ms" if ply <= len(game.times_ms) else text
