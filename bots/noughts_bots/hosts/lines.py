"""Bots as programs that use neither frames nor JSON: `lines:COMMAND`. One line per question, one line per answer.

    tictactoe 1 4 2 7          variant, side to move (0 or 1), the moves so far
    8                          a cell; or a cell and a score; or `resign`

The program gets one question at a time, from any game, with all moves of that game. An invalid line resigns the game.
The next question then goes to a new process, so that late output of the old process cannot be taken for an answer.
"""

import os
import select
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

from noughts_bots.sdk.bot import Bot, Move, Resign
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Position

_LONGEST_LINE = 4_096
"""Bytes of a line, which has one cell."""
_READ_BYTES = 1 << 16
_LONGEST_EXCERPT = 80
_STOP_SECONDS = 1.0


def load(target: str, options: Mapping[str, str]) -> Bot:
    return start_bot("lines", target, LinesBot)


def start_bot(kind: str, target: str, make: Callable[[Sequence[str]], Bot]) -> Bot:
    """Return the bot that `make` starts from the words of a command. Raises BotSpecError."""
    subject = f"bot '{kind}:{target}'"
    try:
        command = shlex.split(target)
    except ValueError as error:
        raise BotSpecError(subject, str(error).lower(), "a command in shell syntax", "check its quotes") from None
    try:
        return make(command)
    except OSError as error:
        advice = "does it exist, is it executable, and is it built for this machine?"
        raise BotSpecError(subject, f"{command[0]}: {error.strerror}", "a program that can be run", advice) from None


class LinesBot(Bot):
    """A program that runs as long as its answers are valid. Raises OSError if it cannot start."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._program: Program | None = Program(command)

    def choose(self, position: Position) -> Move:
        if self._program is None:
            self._program = Program(self._command)
        self._program.write(question(position))
        try:
            line = self._program.read()
            if not line.endswith(b"\n") and len(line) == _LONGEST_LINE:
                raise ValueError(f"with a line of {_LONGEST_LINE:,} bytes or more, expected a cell")
            return read_answer(line.decode(errors="replace").strip())
        except EOFError:
            raise ended("program", self._program.stop()) from None
        except ValueError as error:
            self._program.kill()
            self._program = None
            raise Resign(f"the program answered {error}") from None

    def close(self) -> None:
        if self._program is not None:
            self._program.stop()


def ended(program: str, code: int) -> SystemExit:
    """Report the end of the program on stderr, and return the exception that ends this process with its exit code.

    As in a shell, the exit code for a signal is 128 plus its number.
    """
    ending = f"has ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
    print(f"the {program} {ending}", file=sys.stderr, flush=True)  # noqa: T201  # the bot's author reads it
    return SystemExit(code if code >= 0 else 128 - code)


def question(position: Position) -> str:
    """Return the program's input for a position: `VARIANT SIDE [MOVE ...]`."""
    return " ".join((position.variant.name, str(position.side), *map(str, position.moves)))


def read_answer(line: str) -> Move:
    """Parse `CELL`, `CELL SCORE` or `resign [WHY]`. Raises Resign, or ValueError for an invalid line."""
    first, *rest = line.split() or [""]
    if first == "resign":
        raise Resign(" ".join(rest))
    try:
        if len(rest) > 1 or not line.isascii():
            raise ValueError("too many words, or digits of another script")
        return Move(int(first), float(rest[0]) if rest else None)
    except ValueError:
        raise ValueError(f"{excerpt(line)!r}, expected a cell, a cell and a score, or resign") from None


def excerpt(text: str) -> str:
    """Return the text, cut for a message."""
    return text if len(text) <= _LONGEST_EXCERPT else f"{text[:_LONGEST_EXCERPT]}..."


class Program:
    """A running program that reads and writes lines. It inherits the standard error of this process."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = self._process.stdout
        self._unread = bytearray()

    def write(self, line: str) -> None:
        with suppress(BrokenPipeError):
            self._questions.write(f"{line}\n".encode())
            self._questions.flush()

    def read(self, most: int = _LONGEST_LINE) -> bytes:
        """Return the next line, cut to `most` bytes. Raises EOFError if the program has ended."""
        while b"\n" not in self._unread and len(self._unread) < most:
            data = os.read(self._answers.fileno(), _READ_BYTES)
            if not data:
                break
            self._unread += data
        if not self._unread:
            raise EOFError
        end = (self._unread.find(b"\n", 0, most) + 1) or most
        line = bytes(self._unread[:end])
        del self._unread[:end]
        return line

    def has_output(self, seconds: float = 0.0) -> bool:
        """Return whether the program writes or ends within this many seconds."""
        return bool(self._unread) or bool(select.select([self._answers], [], [], seconds)[0])

    def stop(self) -> int:
        """Close the program's input, wait up to one second, and kill it if it still runs.

        Return its exit code; negative: the signal.
        """
        with suppress(BrokenPipeError):
            self._questions.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        return self.kill()

    def kill(self) -> int:
        """Kill the program if it has not ended. Return its exit code; negative: the signal."""
        self._process.kill()
        for pipe in (self._questions, self._answers):
            with suppress(BrokenPipeError):
                pipe.close()
        return self._process.wait()
