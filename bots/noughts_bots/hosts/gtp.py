"""Engines that use the Go Text Protocol, version 2, and play five in a row: `gtp:COMMAND`.

The commands are `boardsize N`, `clear_board`, `play black H8`, `time_left` and `genmove`. One process plays all games:
before each question it gets the moves that it has not seen, or all moves on a cleared board. Black moves first. Boards
are square, up to 25, because columns are letters (without I). Source: the protocol's specification, version 2, draft 2.
"""

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from noughts_bots.bot import Bot, Resign
from noughts_bots.errors import BotSpecError
from noughts_bots.hosts.lines import end_with
from noughts_referee.rules import Position, Variant

_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
_COLOURS = ("black", "white")
_LONGEST_ANSWER = 64 * 1024
_SHOWN = 80
_STOP_SECONDS = 1.0


def load(target: str, options: Mapping[str, str]) -> Bot:
    subject = f"bot 'gtp:{target}'"
    try:
        command = shlex.split(target)
    except ValueError as error:
        raise BotSpecError(subject, str(error).lower(), "a command in shell syntax", "check its quotes") from None
    try:
        return GtpBot(command)
    except OSError as error:
        advice = "does it exist, is it executable, and is it built for this machine?"
        raise BotSpecError(subject, f"{command[0]}: {error.strerror}", "a program that can be run", advice) from None


class GtpRefused(Exception):
    """The engine answered `? ...`."""


class GtpBot(Bot):
    """A GTP engine. Raises OSError if it cannot start."""

    variants = ("gomoku", "gomoku:exact", "renju", "caro")

    def __init__(self, command: Sequence[str]) -> None:
        self._engine = _Engine(command)
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
                    self._engine.ask(f"time_left {_COLOURS[position.side]} {seconds} 0")
            answer = self._engine.ask(f"genmove {_COLOURS[position.side]}")
        except EOFError:
            end_with("engine", self._engine.stop())
        except GtpRefused as refusal:
            self._variant = None
            raise Resign(f"the engine refused {refusal}") from None
        cell = cell_of(answer, variant)
        self._moves.append(cell)
        return cell

    def close(self) -> None:
        self._engine.stop()

    def _catch_up(self, position: Position) -> None:
        """Update the engine's board to the position of the question."""
        variant, played = position.variant, position.moves
        if self._variant is not variant or self._moves != played[: len(self._moves)]:
            if self._variant is not variant:
                self._engine.ask(f"boardsize {variant.columns}")
            self._engine.ask("clear_board")
            self._variant, self._moves = variant, []
        for ply in range(len(self._moves), len(played)):
            self._engine.ask(f"play {_COLOURS[ply % 2]} {vertex_of(played[ply], variant)}")
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
        shown = answer if len(answer) <= _SHOWN else f"{answer[:_SHOWN]}..."
        raise Resign(f"the engine answered {shown!r}, expected a point such as H8, or resign")
    return (variant.rows - int(row)) * variant.columns + column


class _Engine:
    """The running engine. It inherits our standard error."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._commands: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = self._process.stdout

    def ask(self, command: str) -> str:
        """Return the answer without its `=`. Raises GtpRefused for a `?`, and EOFError if the engine has ended."""
        with suppress(BrokenPipeError):
            self._commands.write(f"{command}\n".encode())
            self._commands.flush()
        told = bytearray()
        # An empty line ends an answer. Empty lines before it are ignored.
        while len(told) < _LONGEST_ANSWER:
            line = self._answers.readline(_LONGEST_ANSWER)
            if not line:
                raise EOFError
            if line.strip():
                told += line
            elif told:
                break
        text = told.decode(errors="replace").strip()
        if not text.startswith("="):
            raise GtpRefused(f"{command!r}: {text[:_SHOWN]}")
        return text.lstrip("=0123456789").strip() if text[1:2].isdigit() else text[1:].strip()

    def stop(self) -> int:
        """Ask it to quit, wait one second, and kill it. Return its exit code; negative: the signal."""
        with suppress(BrokenPipeError, OSError, ValueError):
            self._commands.write(b"quit\n")
            self._commands.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        self._process.kill()
        self._answers.close()
        return self._process.wait()
