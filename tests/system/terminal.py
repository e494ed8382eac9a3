"""A program on a pseudo-terminal, and an emulator of the terminal's screen."""

import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyte

from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM, environment

BETWEEN_PIECES = 0.03
"""Seconds without new output after which a screen is complete."""
LONGEST_DRAWING = 0.3
"""Seconds after which a screen counts as complete even if output continues."""

LAST_MARK = b"\x1b]2;noughts has ended\x07"
"""Sets the title of the terminal, which no test reads. It marks the end of a program's output."""

LEFT_ALTERNATE_SCREEN = b"\x1b[?1049l"
"""The terminal shows again what was on it before the program."""
_CURSOR_SHOWN = b"\x1b[?25h"

UP, DOWN, RIGHT, LEFT = (f"\x1b[{letter}" for letter in "ABCD")
ENTER = "\r"
CTRL_C = "\x03"


class Terminal:
    """A program and its screen. The screen changes only while a test waits for output."""

    def __init__(self, program: Sequence[str], env: Mapping[str, str], size: tuple[int, int]) -> None:
        self.size = columns, lines = size
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._own_end, program_end = pty.openpty()
        fcntl.ioctl(program_end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.mode_before = termios.tcgetattr(program_end)
        """The settings of the terminal before the program began."""
        self.written = b""
        """Everything that the program has written."""
        variables = {
            name: value for name, value in environment().items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        self.process = subprocess.Popen(
            program,
            env={**variables, "TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
            stdin=program_end,
            stdout=program_end,
            stderr=program_end,
            start_new_session=True,
        )
        self._program_end = program_end
        self._ends = [self._own_end, program_end]

    def press(self, keys: str) -> None:
        """Type these keys."""
        os.write(self._own_end, keys.encode())

    def click(self, column: int, line: int) -> None:
        """Send a mouse click at this place, in the SGR form of xterm: press (`M`), then release (`m`)."""
        for action in "Mm":
            self.press(f"\x1b[<0;{column + 1};{line + 1}{action}")

    @property
    def text(self) -> str:
        """Return the text of the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def until(self, expected: str | Callable[[str], bool]) -> str:
        """Wait until the screen shows this text or meets the condition, and return its text."""
        deadline = time.monotonic() + PATIENCE

        def is_shown() -> bool:
            return expected in self.text if isinstance(expected, str) else expected(self.text)

        while not is_shown():
            assert self._read(deadline), f"waited for {expected!r}; the screen shows\n{self.text}"
        first_match = self.text
        # A drawing can arrive in pieces: wait until no more output follows.
        settled = time.monotonic() + LONGEST_DRAWING
        while time.monotonic() < settled and self._read(time.monotonic() + BETWEEN_PIECES):
            pass
        return self.text if is_shown() else first_match

    def until_without(self, unwanted: str) -> str:
        """Wait until the screen no longer shows this text, and return its text."""
        return self.until(lambda text: unwanted not in text)

    def wait_for_exit(self) -> int:
        """Wait for the program's end, and return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            self._read(min(deadline, time.monotonic() + 0.05))
            assert time.monotonic() < deadline, f"the program still runs; the screen shows\n{self.text}"
        # The kernel passes output on with a delay. All output of the program comes before a mark that is written now.
        os.write(self._program_end, LAST_MARK)
        while not self.written.endswith(LAST_MARK):
            assert self._read(deadline), "the end of the output did not arrive"
        self.written = self.written.removesuffix(LAST_MARK)
        return self.process.returncode

    def mode(self) -> list[Any]:
        """Return the settings of the terminal now."""
        return termios.tcgetattr(self._program_end)

    @property
    def is_restored(self) -> bool:
        """Return whether the program has left the terminal as it was."""
        is_shown = LEFT_ALTERNATE_SCREEN in self.written and _CURSOR_SHOWN in self.written
        return is_shown and self.mode() == self.mode_before

    def characters(self) -> Iterator[tuple[int, int, Any]]:
        """Yield row, column and styled character for the whole screen."""
        for row in range(self._screen.lines):
            for column in range(self._screen.columns):
                yield row, column, self._screen.buffer[row][column]

    def hang_up(self) -> int:
        """Close the terminal of the running program, and return the program's exit code."""
        while self._ends:
            os.close(self._ends.pop())
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """End the program if it runs, and close the terminal."""
        if self.process.poll() is None:
            self.process.kill()
        self.hang_up()

    def _read(self, deadline: float) -> bool:
        """Read available output, waiting for it until `deadline`; return whether there was any."""
        ready, _, _ = select.select([self._own_end], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._own_end, 65_536)
        except OSError as error:
            if error.errno != errno.EIO:  # EIO: the other end is closed
                raise
            return False
        self.written += data
        self._stream.feed(data)
        return True


@contextmanager
def terminal(
    line: str, *, env: Mapping[str, str] | None = None, size: tuple[int, int] = (80, 24)
) -> Iterator[Terminal]:
    """Run `noughts` with this command line on a terminal of this size (columns, lines); end it after the block."""
    with program_on_terminal((*PROGRAM, *line.split()), env=env, size=size) as opened:
        yield opened


@contextmanager
def program_on_terminal(
    program: Sequence[str], *, env: Mapping[str, str] | None = None, size: tuple[int, int] = (80, 24)
) -> Iterator[Terminal]:
    """Run any program on a terminal; end it after the block."""
    opened = Terminal(program, env or {}, size)
    try:
        yield opened
    finally:
        opened.close()
