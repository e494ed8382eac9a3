"""A running engine: commands go in, lines come out, in the event loop and without a task or a future for either."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from noughts_bots.gomocup.protocol import Lines
from noughts_referee.children.launcher import Started
from noughts_referee.children.pipe_frames import Tail
from noughts_referee.children.running_child import Death, ended_with
from noughts_referee.monotonic import Now

_READ_BYTES = 1 << 14
"""Read at once: thousands of lines without a pause would stop everybody else's clock."""
_LINES_AT_ONCE, _LINES_A_SECOND = 20_000, 20_000
"""What is heard of an engine, far more than any says that thinks. Whoever says more has a full pipe, and waits. A line
costs 7 us here: so many take a seventh of a core."""
_CLOSED, _DEAF = "closed its standard output", "closed its standard input"


class Listener(Protocol):
    """Who is told what an engine says."""

    def said(self, line: str, now: int) -> None:
        """A line has come, read at that time in microseconds."""

    def ended(self, reason: str) -> None:
        """No more lines will come; `reason` is a phrase that follows "it". Called once."""

    def failed(self, error: Exception) -> None:
        """What was raised by one of the others: an error of ours, which the loop would only log."""


class EngineProcess:
    """The pipes of one engine. What it says besides its moves is kept with its stderr."""

    def __init__(
        self, started: Started, listener: Listener, now: Now, heard: Callable[[bytes], None] | None = None
    ) -> None:
        """`heard` is given what it writes to stderr, and its notes, as they come."""
        self.scratch = started.scratch
        self._started = started
        self._listener = listener
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._stdin, self._stdout = started.stdin, started.stdout
        self._tail = Tail(started.stderr, heard=heard)
        self._lines = Lines()
        self._ended = False
        self._allowance = float(_LINES_AT_ONCE)
        self._read_us = now()
        self._resuming: asyncio.TimerHandle | None = None
        self._loop.add_reader(self._stdout, self._readable)

    def send(self, data: bytes) -> None:
        """Writes commands. An engine that does not take them has ended: all of a game fit into a pipe many times."""
        try:
            written = os.write(self._stdin, data)
        except BlockingIOError:
            written = 0
        except OSError:
            self._loop.call_soon(self._end, _DEAF)
            return
        if written < len(data):
            self._loop.call_soon(self._end, "does not read its commands")

    def note(self, text: str) -> None:
        """Keeps a line with what it writes to stderr."""
        self._tail.add(f"{text}\n".encode())

    def kill(self, signal: int) -> None:
        """Sends a signal to the engine and what it has started."""
        self._started.kill(signal)

    @property
    def said(self) -> str:
        """The last 64 KB of its stderr and its notes."""
        return self._tail.text

    async def stop(self, reason: str, seconds: float) -> Death:
        """END, and so long for the engine to end itself; then it is killed with all that it has started.

        `reason` is what it did; empty: what its exit code says.
        """
        self._ended = True
        if self._resuming is not None:
            self._resume()
        with suppress(OSError):
            os.write(self._stdin, b"END\n")
        os.close(self._stdin)
        code: int | None = None
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    code = await self._started.wait()
        finally:
            self._started.kill(signal.SIGKILL)
            self._loop.remove_reader(self._stdout)
            os.close(self._stdout)
            try:
                await self._started.wait()
            finally:
                self._tail.close()
        if code is not None and reason in ("", _CLOSED, _DEAF):
            reason = ended_with(code)
        return Death(self._started.ended_for or reason, code, self._tail.text)

    def _readable(self) -> None:
        try:
            self._read()
        except Exception as error:
            self._listener.failed(error)

    def _read(self) -> None:
        # The time at which a line was there is when the loop says so: what others do afterwards is not the engine's.
        now = self._now()
        try:
            data = os.read(self._stdout, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._stdout)
        if self._ended:
            return  # nobody listens any more, but an engine that writes can end
        lines = self._lines.feed(data) if data else self._lines.rest()
        said = self._listener.said
        for line in lines:
            said(line, now)
        if data:
            self._bound(len(lines), now)
        else:
            self._end(_CLOSED)

    def _bound(self, lines: int, now: int) -> None:
        """Reads no more for a while once it has said more lines than anybody needs."""
        earned = (now - self._read_us) * (_LINES_A_SECOND / 1_000_000)
        self._allowance = min(_LINES_AT_ONCE, self._allowance + earned) - lines
        self._read_us = now
        if self._allowance < 0 and not self._ended:
            self._loop.remove_reader(self._stdout)
            self._resuming = self._loop.call_later(-self._allowance / _LINES_A_SECOND, self._resume)

    def _resume(self) -> None:
        assert self._resuming is not None
        self._resuming.cancel()
        self._resuming = None
        self._loop.add_reader(self._stdout, self._readable)

    def _end(self, reason: str) -> None:
        if not self._ended:
            self._ended = True
            try:
                self._listener.ended(reason)
            except Exception as error:
                self._listener.failed(error)
