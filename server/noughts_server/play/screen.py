"""The screen for playing: a board, a status line, the score, and the keys."""

import time
from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, ScrollableContainer, Vertical
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.widgets import Static

from noughts_referee.rules import Variant, cell_name
from noughts_server.play.drawing import Scene, fits
from noughts_server.play.key_input import COMMAND_WORDS, BoardCommand, Typing, Unreadable
from noughts_server.play.match import Refused
from noughts_server.play.opponents import Seating
from noughts_server.play.panel import PANEL_WIDTH, STRIP_LINES, panel, strip
from noughts_server.play.status_line import status
from noughts_server.play.widgets import Board, Help

_REDRAWN_SECONDS = 0.25
_LONG_SECONDS = 1.0
_NARROW = 60
"""Screens with fewer columns show the strip instead of the panel."""
_WON, _LOST = "#1e7f3a", "#b3261e"  # green and red, both dark enough for white letters
_STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_COMMAND_KEYS = {
    "f1": BoardCommand.HELP,
    "f2": BoardCommand.NEW,
    "f3": BoardCommand.UNDO,
    "f4": BoardCommand.HINT,
    "f10": BoardCommand.LEAVE,
}


class PlayScreen(App[None]):
    """Shows a seating and forwards the person's actions to it."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "take('q')", show=False, priority=True)]

    def __init__(self, seating: Seating) -> None:
        super().__init__()
        self._seating = seating
        self._typing = Typing(seating.match.variant)
        self._cursor = _middle(seating.match.variant)
        self._message = ""
        self._completed = False
        """Whether the last key completed a coordinate, which needs no Enter."""
        self._asking = False
        """Whether the question before leaving is open."""
        self._narrow = False
        """Whether a strip of lines replaces the panel."""
        self._mounted = False
        """Whether the widgets exist: the opponent can move before that."""
        self._seen = (-1, -1)
        self._turn_began = time.monotonic()
        self.failure: BaseException | None = None
        """The error that ended the opponent, e.g. one of the bot."""
        seating.changed = self._show
        seating.leave = self.exit

    def compose(self) -> ComposeResult:
        with Horizontal(id="middle"):
            room = ScrollableContainer(Board(self._seating.match.variant), id="room")
            room.can_focus = False
            yield room
            panel = Vertical(Static(id="players"), id="panel")
            panel.styles.width = PANEL_WIDTH
            yield panel
        yield Static(id="strip")
        yield Static(id="status")
        yield Static(id="message")
        keys = (f"[@click=app.take('{each.value}')] {each.value} {words} [/]" for each, words in COMMAND_WORDS.items())
        yield Static(" ".join(keys), id="keys")

    @property
    def _main(self) -> Screen[Any]:
        """The screen with the board, even while the help covers it."""
        return self.screen_stack[0]

    def on_mount(self) -> None:
        self._mounted = True
        self.run_worker(self._accompany(), exit_on_error=False)
        self.set_interval(_REDRAWN_SECONDS, self._show)
        self._show()

    async def _accompany(self) -> None:
        """Run the opponent; if it fails, close the screen and keep the error in `failure`."""
        try:
            await self._seating.run()
        except Exception as error:
            self.failure = error
            self.exit()

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        # Three lines are below the board. If the panel would hide part of the board, the strip replaces it.
        variant = self._seating.match.variant
        beside = size.width - PANEL_WIDTH
        self._narrow = size.width < _NARROW or not fits(variant, beside)
        self._main.query_one("#panel").display = not self._narrow
        self._main.query_one("#strip").display = self._narrow
        room = (size.width, size.height - 3 - STRIP_LINES) if self._narrow else (beside, size.height - 3)
        self._main.query_one(Board).fit(variant, room)
        self.call_after_refresh(self._follow)

    # Actions of the person.

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if self._asking:
            self._answer(event.key)
            return
        self._try(lambda: self._take(event))

    def _take(self, event: events.Key) -> None:
        typing = self._typing
        if event.key in _STEPS:
            typing.clear()
            self._step(*_STEPS[event.key])
        elif event.key == "enter" and self._completed:
            # The coordinate was already complete.
            self._completed = False
        elif event.key in ("enter", "space"):
            self._do(typing.enter() if typing.typed else self._cursor)
        elif event.key == "backspace":
            typing.delete()
        elif event.key == "escape":
            typing.clear()
        elif event.key in _COMMAND_KEYS:
            self._do(_COMMAND_KEYS[event.key])
        elif event.character is not None:
            began = bool(typing.typed)
            command = typing.key(event.character, over=self._seating.match.ended is not None)
            self._completed = began and isinstance(command, int)
            self._do(command)
            return
        self._completed = False

    def _do(self, command: BoardCommand | int | None) -> None:
        match command:
            case None:
                pass
            case BoardCommand.NEW:
                self._seating.new()
                self._cursor = _middle(self._seating.match.variant)
            case BoardCommand.UNDO:
                self._seating.undo()
            case BoardCommand.HINT:
                # The cursor goes to a reference bot's move.
                self.run_worker(self._hint(), exclusive=True, group="hint", exit_on_error=False)
            case BoardCommand.HELP:
                self.push_screen(Help(self._seating.match.variant))
            case BoardCommand.LEAVE:
                self._leave()
            case cell:
                self._cursor = cell
                self._seating.play(cell)

    def _step(self, across: int, down: int) -> None:
        """Move the cursor; from the edge of a layer to the next layer."""
        variant = self._seating.match.variant
        layer, cell = divmod(self._cursor, variant.columns * variant.rows)
        row, column = divmod(cell, variant.columns)
        column, row = column + across, row + down
        if not 0 <= column < variant.columns and 0 <= layer + across < variant.layers:
            layer = layer + across
            column = column % variant.columns
        row, column = min(max(row, 0), variant.rows - 1), min(max(column, 0), variant.columns - 1)
        self._cursor = (layer * variant.rows + row) * variant.columns + column

    def on_board_clicked(self, event: Board.Clicked) -> None:
        if not self._asking:
            self._typing.clear()
            self._try(lambda: self._do(event.cell))

    def _try(self, action: Callable[[], None]) -> None:
        """Perform an action; if it is refused, the message says why."""
        self._message = ""
        try:
            action()
        except (Refused, Unreadable) as refusal:
            self._message = str(refusal)
        self._show()

    def action_take(self, letter: str) -> None:
        """Perform the command of this letter."""
        self._try(lambda: self._do(BoardCommand(letter)))

    async def _hint(self) -> None:
        self._message = "Working out a hint."
        self._show()
        try:
            hint = await self._seating.hint()
        except Refused as refusal:
            self._message = str(refusal)
        else:
            self._message = ""
            if hint is not None:
                variant = self._seating.match.variant
                self._cursor = hint.cell
                score = "" if hint.score is None else f" (score {hint.score:g})"
                self._message = f"Hint from {hint.by}: {cell_name(variant, hint.cell)}{score}. Enter plays it."
        self._show()

    def _leave(self) -> None:
        """Leave, after a question if something would be lost. A second call means yes."""
        if self._asking or not (question := self._seating.ask_to_leave()):
            self._asking = False
            self._seating.give_up()
            return
        self._asking = True
        self._message = question

    def _answer(self, key: str) -> None:
        self._asking = False
        self._message = ""
        if key in ("y", "enter"):
            self._seating.give_up()
        self._show()

    # Display.

    def _show(self) -> None:
        if not (self._mounted and self.is_running):
            return
        match = self._seating.match
        board = self._main.query_one(Board)
        if board.layout_of_board.variant is not match.variant:
            # The next game on a server can have another variant.
            self._typing, self._cursor = Typing(match.variant), _middle(match.variant)
            self._fit(self.size)
        ended = match.ended
        person_won = ended is not None and ended.winner is not None and match.players[ended.winner].person
        board.show(
            Scene(
                stones=match.stones,
                cursor=self._cursor if ended is None else None,
                last=match.moves[-1] if match.moves else None,
                winning=match.winning,
                winning_colour=_WON if person_won else _LOST,
                forbidden=match.forbidden,
            )
        )
        self._follow()
        cursor = self._cursor if ended is None else None
        if self._narrow:
            self._main.query_one("#strip", Static).update(strip(self._seating, cursor, self.size.width - 2))
        else:
            self._main.query_one("#players", Static).update(panel(self._seating, cursor, self.size.height - 3))
        self._main.query_one("#status", Static).update(Text(self._status()))
        notice = self._seating.notice or (self._seating.after_a_game if ended is not None else "")
        self._main.query_one("#message", Static).update(Text(self._message or self._typing.prompt or notice))

    def _status(self) -> str:
        match = self._seating.match
        now = time.monotonic()
        seen = (len(match.games), len(match.moves))
        if seen != self._seen:
            self._seen, self._turn_began = seen, now
        text = self._seating.status or status(match)
        waited = now - self._turn_began
        if match.ended is None and not match.players[match.turn].person and waited > _LONG_SECONDS:
            text += f" {waited:.0f} s"
        return text

    def _follow(self) -> None:
        """Scroll to the cursor if the board is larger than the screen."""
        room = self._main.query_one("#room", ScrollableContainer)
        board = self._main.query_one(Board)
        place = board.layout_of_board.place(self._cursor)
        size = board.layout_of_board.size
        # Next to the first row and column, scroll to their names, too.
        left, top = place.column - 1, place.line
        names_left, names_top = board.layout_of_board.place(0)
        left, top = (0 if left < names_left else left), (0 if top <= names_top else top)
        region = Region(left, top, place.column + size.width + 1 - left, place.line + size.height - top)
        if room.max_scroll_x or room.max_scroll_y:
            room.scroll_to_region(region, animate=False, force=True)


def _middle(variant: Variant) -> int:
    """Return the middle cell of the first layer."""
    return (variant.rows - 1) // 2 * variant.columns + (variant.columns - 1) // 2
