"""Engines that use the Go Text Protocol, version 2, and play five in a row: `gtp:COMMAND`.

The commands are `boardsize N`, `clear_board`, `play black H8`, `time_left` and `genmove`. One process plays all games:
before each question it gets the moves that it has not seen, or all moves on a cleared board. Black moves first. Boards
are square, up to 25, because columns are letters (without I). Source: the protocol's specification, version 2, draft 2.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from noughts_bots.bot import Bot, Resign
from noughts_bots.hosts.lines import Program, end_with, shown, started
from noughts_referee.rules import Position, Variant

_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
_COLOURS = ("black", "white")
_LONGEST_ANSWER = 64 * 1024


def load(target: str, options: Mapping[str, str]) -> Bot:
    return started("gtp", target, GtpBot)


class GtpRefused(Exception):
    """The engine answered `? ...`."""


class GtpBot(Bot):
    """A GTP engine. Raises OSError if it cannot start."""

    variants = ("gomoku", "gomoku:exact", "renju", "caro")

    def __init__(self, command: Sequence[str]) -> None:
        self._engine = Program(command)
        self._variant: Variant | None = None
        self._moves: list[int] = []

    def choose(self, position: Position) -> int:
        variant = position.variant
        if variant.rows != variant.columns or variant.layers != 1 or variant.columns > len(_LETTERS) or variant.gravity:
            raise Resign(f"GTP supports only square flat boards up to {len(_LETTERS)}, not {variant.name}")
        try:
            self._catch_up(position)
            if position.own_clock_us:
                with suppress(GtpRefused):  # not every engine knows it
                    seconds = max(1, position.limit_us // 1_000_000)
                    self._ask(f"time_left {_COLOURS[position.side]} {seconds} 0")
            answer = self._ask(f"genmove {_COLOURS[position.side]}")
        except EOFError:
            end_with("engine", self.close())
        except GtpRefused as refusal:
            self._variant = None
            raise Resign(f"the engine refused {refusal}") from None
        cell = cell_of(answer, variant)
        self._moves.append(cell)
        return cell

    def close(self) -> int:
        """Ask the engine to quit, and stop it if it does not. Return its exit code; negative: the signal."""
        with suppress(ValueError):  # it was stopped before
            self._engine.write("quit")
        return self._engine.stop()

    def _ask(self, command: str) -> str:
        """Return the answer without its `=`. Raises GtpRefused for a `?`, and EOFError if the engine has ended."""
        self._engine.write(command)
        told = bytearray()
        # An empty line ends an answer. Empty lines before it are ignored.
        while len(told) < _LONGEST_ANSWER:
            line = self._engine.read(_LONGEST_ANSWER)
            if line.strip():
                told += line
            elif told:
                break
        text = told.decode(errors="replace").strip()
        if not text.startswith("="):
            raise GtpRefused(f"{command!r}: {shown(text)}")
        return text.lstrip("=0123456789").strip() if text[1:2].isdigit() else text[1:].strip()

    def _catch_up(self, position: Position) -> None:
        """Update the engine's board to the position of the question."""
        variant, played = position.variant, position.moves
        if self._variant is not variant or self._moves != played[: len(self._moves)]:
            if self._variant is not variant:
                self._ask(f"boardsize {variant.columns}")
            self._ask("clear_board")
            self._variant, self._moves = variant, []
        for ply in range(len(self._moves), len(played)):
            self._ask(f"play {_COLOURS[ply % 2]} {vertex_of(played[ply], variant)}")
            self._moves.append(played[ply])


def vertex_of(cell: int, variant: Variant) -> str:
    """Return `H8` and the like: columns are letters from the left without I, rows are numbers from the bottom."""
    row, column = divmod(cell, variant.columns)
    return f"{_LETTERS[column]}{variant.rows - row}"


def cell_of(answer: str, variant: Variant) -> int:
    """Return the cell of an answer. Raises Resign, also if there is none."""
    text = answer.strip().upper()
    if text == "RESIGN":
        raise Resign
    column, row = _LETTERS.find(text[:1]), text[1:]
    if not text or column < 0 or not row.isdecimal() or not 1 <= int(row) <= variant.rows or column >= variant.columns:
        raise Resign(f"the engine answered {shown(answer)!r}, expected a point such as H8, or resign")
    return (variant.rows - int(row)) * variant.columns + column
