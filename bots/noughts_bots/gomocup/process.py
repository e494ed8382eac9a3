"""An engine's process: lines to it and from it, with a deadline, and its end. Of all commands it knows only END."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from noughts_bots.gomocup.protocol import Lines
from noughts_bots.process import ask_to_die_with_parent

END_SECONDS = 1.0
"""How long an engine may take to end after END, before it is killed."""

_PIECE = 1 << 16
# What an engine may have written unasked, and is taken before a command; one that writes more never stops.
_MOST_UNASKED = 1 << 20


class EngineEnded(Exception):
    """The engine has ended, or does not take its commands any more: `how` says it in words."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class EngineProcess:
    """A running engine, in a process group of its own. Its stderr is ours."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Starts it in `folder`, its working folder. Raises OSError."""
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0,
            preexec_fn=ask_to_die_with_parent,  # it is in a group of its own
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        for descriptor in (self._stdin, self._stdout):
            os.set_blocking(descriptor, False)
        self._pieces = Lines()
        self._lines: deque[str] = deque()
        self._at_end = False

    def send(self, *commands: str) -> None:
        """Writes the commands, a line each. Raises EngineEnded."""
        text = "".join(f"{command}\r\n" for command in commands).encode()
        try:
            written = os.write(self._stdin, text)
        except BlockingIOError:
            written = 0
        except BrokenPipeError:
            raise EngineEnded(self._how_it_ended()) from None
        if written < len(text):
            # All commands of a game fit into a pipe many times over.
            raise EngineEnded("the engine does not read its commands")

    def line(self, deadline: float | None) -> str | None:
        """The next line; None when the deadline, in seconds of `time.monotonic`, has passed. Raises EngineEnded."""
        while not self._lines:
            if self._at_end:
                raise EngineEnded(self._how_it_ended())
            left = None if deadline is None else deadline - time.monotonic()
            # Whoever writes without end must not be read without end.
            if left is not None and left < 0:
                return None
            self._read(left)
        return self._lines.popleft()

    def unasked(self) -> list[str]:
        """The lines that are there already: none of them answers what has not been asked yet."""
        taken = 0
        while taken < _MOST_UNASKED and (size := self._read(0)):
            taken += size
        lines = list(self._lines)
        self._lines.clear()
        return lines

    def close(self) -> None:
        """END, a second for the engine to end itself, then it is killed with all that it has started."""
        with contextlib.suppress(EngineEnded):
            self.send("END")
        deadline = time.monotonic() + END_SECONDS
        # Its pipe ends with it; until then it is emptied, so that the engine cannot hang writing.
        while not self._at_end and (left := deadline - time.monotonic()) > 0:
            self._read(left)
            self._lines.clear()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        self.kill()

    def kill(self) -> None:
        """Ends the engine and all that it has started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()  # where the group as a whole may not be: nobody must wait for ever
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self, seconds: float | None) -> int:
        """Waits for output, as long as that, and takes a piece of it. Returns its size in bytes."""
        if self._at_end or not select.select([self._stdout], [], [], seconds)[0]:
            return 0
        piece = os.read(self._stdout, _PIECE)
        self._at_end = not piece
        self._lines.extend(self._pieces.feed(piece) if piece else self._pieces.rest())
        return len(piece)

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return "the engine has closed its output"
        if code < 0:
            return f"the engine was ended by signal {-code} ({signal.strsignal(-code)})"
        return f"the engine has ended with exit code {code}"
