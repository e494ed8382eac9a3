"""Input of a person, key by key: a coordinate, a key of the keypad, or a command.

Letters name columns as well as commands: on a board with a column `n`, a typed `n` waits for a row's number, and Enter
makes it the command.
"""

from enum import Enum

from noughts_referee.rules import Variant, read_cell
from noughts_server.cli.screens.play.cells import has_keypad, is_column, is_complete, keypad_cell


class BoardCommand(Enum):
    """The commands of a player, by their letters."""

    NEW = "n"
    UNDO = "u"
    HINT = "h"
    HELP = "?"
    LEAVE = "q"


COMMAND_WORDS = {command: command.name.lower() for command in BoardCommand}
COMMAND_WORDS |= {BoardCommand.NEW: "new game", BoardCommand.LEAVE: "quit"}
_COMMANDS = {command.value: command for command in BoardCommand}


class Unreadable(Exception):
    """The typed text is not a cell; the message says what is expected."""


class TypedInput:
    """The part of a coordinate typed so far."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self.typed = ""

    def clear(self) -> None:
        self.typed = ""

    def delete(self) -> None:
        self.typed = self.typed[:-1]

    def key(self, character: str, *, over: bool) -> "BoardCommand | int | None":
        """Return a command, a cell, or None if the text is not complete.

        After a game (`over`), the letter of a command is always the command.
        """
        character = character.lower()
        if not self._can_continue(character):
            # The text can no longer become a cell.
            self.typed = ""
        if not self.typed:
            command = _COMMANDS.get(character)
            if command is not None and (over or not is_column(self._variant, character)):
                return command
            if character.isdigit() and (cell := self._digit(int(character))) is not None:
                return cell
            if not self._can_continue(character):
                return None
        self.typed += character
        return self._take_cell() if is_complete(self._variant, self.typed) else None

    def _can_continue(self, character: str) -> bool:
        """Return whether the typed text with this character can begin a cell's name."""
        if not (character.isascii() and character.isalnum()):
            return False
        letters = self.typed.lstrip("0123456789")
        if character.isdigit():
            return letters != "" or self._variant.layers > 1
        return (letters == "" or letters.isalpha()) and (is_column(self._variant, letters + character))

    def enter(self) -> "BoardCommand | int":
        """Return the cell or command typed before Enter. Raises Unreadable."""
        if self.typed in _COMMANDS and read_cell(self._variant, self.typed) is None:
            return _COMMANDS[self._take_text()]
        return self._take_cell()

    def _take_cell(self) -> int:
        """Return the cell of the typed text, and clear the text. Raises Unreadable."""
        typed = self._take_text()
        cell = read_cell(self._variant, typed)
        if cell is None:
            raise Unreadable(f"{typed}: there is no such cell; {self.expected}.")
        return cell

    def _take_text(self) -> str:
        text = self.typed
        self.typed = ""
        return text

    def _digit(self, digit: int) -> int | None:
        """Return the cell of a single digit on this board."""
        if digit and has_keypad(self._variant):
            return keypad_cell(digit)
        if digit and self._variant.layers == 1 and self._variant.gravity and digit <= self._variant.columns:
            return digit - 1
        return None

    @property
    def prompt(self) -> str:
        """The typed text and what can follow; empty if nothing is typed."""
        if not self.typed:
            return ""
        command = _COMMANDS.get(self.typed)
        enter = f"Enter: {COMMAND_WORDS[command]}, or continue with a number" if command else "Enter: play there"
        return f"{self.typed}_   {enter}; Esc: clear"

    @property
    def expected(self) -> str:
        """What the player can type, in words."""
        if self._variant.gravity:
            return "type a column's letter or number" if self._variant.columns < 10 else "type a column's letter"
        if has_keypad(self._variant):
            return "type 1 to 9 as on the keypad (7 is top left), or letter and number as in b2"
        return "type layer, letter and number as in 2b3" if self._variant.layers > 1 else "type e.g. b2"
