"""The mode in which a person plays: a cursor on the board, typed coordinates and commands."""

import time
from collections.abc import Callable
from importlib.resources import files

from rich.text import Text
from textual import events
from textual.geometry import Size

from noughts_referee.rules import Variant, cell_name
from noughts_server.cli.screens.board_mode import BoardMode
from noughts_server.cli.screens.play.controllers import GameController
from noughts_server.cli.screens.play.key_input import COMMAND_WORDS, BoardCommand, TypedInput, Unreadable
from noughts_server.cli.screens.play.match import ActionRefused
from noughts_server.cli.screens.shown_game import ShownGame
from noughts_server.cli.screens.widgets import Board, Help

_REDRAW_SECONDS = 0.25
_LONG_SECONDS = 1.0
_STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_COMMAND_KEYS = {
    "f1": BoardCommand.HELP,
    "f2": BoardCommand.NEW,
    "f3": BoardCommand.UNDO,
    "f4": BoardCommand.HINT,
    "f10": BoardCommand.LEAVE,
}
_HELP = (files(__package__) / "help.txt").read_text(encoding="utf-8").rstrip()
"""The help in Rich's markup, with replacement fields for the texts that depend on the variant."""


def help_text(variant: Variant) -> Text:
    """Return the help on the keys for a board of this variant."""
    falls = " The stone falls as far as it can." if variant.gravity else ""
    forbidden = "   \N{MULTIPLICATION SIGN} forbidden to you" if variant.forbids is not None else ""
    return Text.from_markup(_HELP.format(typing=TypedInput(variant).expected, falls=falls, forbidden=forbidden))


class PlayMode(BoardMode):
    """Shows the game of a controller and forwards the person's actions to it."""

    key_line = " ".join(
        f"[@click=screen.take('{command.value}')] {command.value} {words} [/]"
        for command, words in COMMAND_WORDS.items()
    )

    def __init__(self, controller: GameController) -> None:
        super().__init__(controller)
        self._controller = controller
        self._typing = TypedInput(controller.match.variant)
        self._cursor = _middle(controller.match.variant)
        self._message = ""
        self._has_completed_cell = False
        """Whether the last key completed a coordinate, which needs no Enter."""
        self._is_question_open = False
        """Whether the question before leaving is open."""
        self._last_counts = (-1, -1)
        self._turn_start = time.monotonic()

    def on_mount(self) -> None:
        self.set_interval(_REDRAW_SECONDS, self.show)

    def fit(self, size: Size) -> None:
        super().fit(size)
        self.call_after_refresh(self.follow, self._cursor)

    # Actions of the person.

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if self._is_question_open:
            self._answer(event.key)
            return
        self._try(lambda: self._take(event))

    def _take(self, event: events.Key) -> None:
        typing = self._typing
        if event.key in _STEPS:
            typing.clear()
            self._step(*_STEPS[event.key])
        elif event.key == "enter" and self._has_completed_cell:
            # The coordinate was already complete.
            self._has_completed_cell = False
        elif event.key in ("enter", "space"):
            self._do(typing.enter() if typing.typed else self._cursor)
        elif event.key == "backspace":
            typing.delete()
        elif event.key == "escape":
            typing.clear()
        elif event.key in _COMMAND_KEYS:
            self._do(_COMMAND_KEYS[event.key])
        elif event.character is not None:
            had_text = bool(typing.typed)
            command = typing.key(event.character, over=self._controller.match.ended is not None)
            self._has_completed_cell = had_text and isinstance(command, int)
            self._do(command)
            return
        self._has_completed_cell = False

    def _do(self, command: BoardCommand | int | None) -> None:
        match command:
            case None:
                pass
            case BoardCommand.NEW:
                self._controller.new()
                self._cursor = _middle(self._controller.match.variant)
            case BoardCommand.UNDO:
                self._controller.undo()
            case BoardCommand.HINT:
                # The cursor goes to a reference bot's move.
                self.run_worker(self._hint(), exclusive=True, group="hint", exit_on_error=False)
            case BoardCommand.HELP:
                self.app.push_screen(Help(help_text(self._controller.match.variant)))
            case BoardCommand.LEAVE:
                self._leave()
            case cell:
                self._cursor = cell
                self._controller.play(cell)

    def _step(self, across: int, down: int) -> None:
        """Move the cursor; from the edge of a layer to the next layer."""
        variant = self._controller.match.variant
        layer, cell = divmod(self._cursor, variant.columns * variant.rows)
        row, column = divmod(cell, variant.columns)
        column, row = column + across, row + down
        if not 0 <= column < variant.columns and 0 <= layer + across < variant.layers:
            layer = layer + across
            column = column % variant.columns
        row, column = min(max(row, 0), variant.rows - 1), min(max(column, 0), variant.columns - 1)
        self._cursor = (layer * variant.rows + row) * variant.columns + column

    def on_board_clicked(self, event: Board.Clicked) -> None:
        if not self._is_question_open:
            self._typing.clear()
            self._try(lambda: self._do(event.cell))

    def _try(self, action: Callable[[], None]) -> None:
        """Perform an action; if it is refused, the message says why."""
        self._message = ""
        try:
            action()
        except (ActionRefused, Unreadable) as refusal:
            self._message = str(refusal)
        self.show()

    def action_leave(self) -> None:
        self.action_take(BoardCommand.LEAVE.value)

    def action_take(self, letter: str) -> None:
        """Perform the command of this letter."""
        self._try(lambda: self._do(BoardCommand(letter)))

    async def _hint(self) -> None:
        self._message = "Working out a hint."
        self.show()
        try:
            hint = await self._controller.hint()
        except ActionRefused as refusal:
            self._message = str(refusal)
        else:
            self._message = ""
            if hint is not None:
                variant = self._controller.match.variant
                self._cursor = hint.cell
                score = "" if hint.score is None else f" (score {hint.score:g})"
                self._message = f"Hint from {hint.by}: {cell_name(variant, hint.cell)}{score}. Enter plays it."
        self.show()

    def _leave(self) -> None:
        """Leave. If something would be lost, ask first; a second call while the question is open leaves."""
        question = "" if self._is_question_open else self._controller.ask_to_leave()
        self._is_question_open = bool(question)
        if question:
            self._message = question
        else:
            self._controller.give_up()

    def _answer(self, key: str) -> None:
        self._is_question_open = False
        self._message = ""
        if key in ("y", "enter"):
            self._controller.give_up()
        self.show()

    # Display.

    def draw(self, game: ShownGame) -> None:
        if self.query_one(Board).layout_of_board.variant is not game.variant:
            self._typing = TypedInput(game.variant)
            self._cursor = _middle(game.variant)
        self.draw_game(game, None if game.over else self._cursor)
        self.follow(self._cursor)
        notice = self._controller.notice or (self._controller.message_after_game if game.over else "")
        self.write(self._status(game), self._message or self._typing.prompt or notice)

    def _status(self, game: ShownGame) -> str:
        match = self._controller.match
        now = time.monotonic()
        counts = (len(match.games), len(match.moves))
        if counts != self._last_counts:
            self._last_counts = counts
            self._turn_start = now
        text = game.status
        waiting_seconds = now - self._turn_start
        if match.ended is None and not match.players[match.turn].person and waiting_seconds > _LONG_SECONDS:
            text += f" {waiting_seconds:.0f} s"
        return text


def _middle(variant: Variant) -> int:
    """Return the middle cell of the first layer."""
    return (variant.rows - 1) // 2 * variant.columns + (variant.columns - 1) // 2
