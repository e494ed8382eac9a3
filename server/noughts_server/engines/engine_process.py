"""A running engine's pipes in the event loop, without a task or a future for each command or line."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Protocol

from noughts_bots.gomocup.protocol import Lines
from noughts_referee.children.launcher import Started
from noughts_referee.children.pipe_frames import Tail
from noughts_referee.children.running_child import Death, ended_with
from noughts_referee.children.stamped_pipes import last_write, pipe_bytes
from noughts_referee.monotonic import Now

_READ_BYTES = 1 << 12
"""Bytes that are read at once. Thousands of lines without a pause would delay all other clocks."""
_MESSAGES = ("MESSAGE ", "DEBUG ")
"""The beginnings of readable lines that are not answers."""
_FEW_LINES = 8
"""More messages than this in one reading are passed on together."""
_LINE_COST = 8
"""A single forwarded line counts like this number of messages that are forwarded together."""
# Limits of the lines that are read, counted in messages. Beyond them, the engine blocks on its pipe.
#
# An engine that thinks writes far fewer lines. A message costs about 1 us here and any other line 7 us, so the limit is
# a sixth of a core.
_MESSAGES_AT_ONCE = 160_000
_MESSAGES_A_SECOND = 160_000
_PIPE_BYTES = 1 << 16
"""Bytes that a pipe holds. Linux makes smaller pipes for a user whose pipes have much memory, e.g. for other bots."""
_WRITE_US = 1_000
"""A write that takes longer was interrupted."""
_CLOSED, _DEAF = "closed its standard output", "closed its standard input"


class Listener(Protocol):
    """The receiver of an engine's lines."""

    def receive_line(self, line: str, now: int) -> None:
        """Handle a line, read at the time `now` in microseconds."""

    def receive_messages(self, messages: Sequence[str], now: int) -> bool:
        """Handle many messages; return False to get each of them through `receive_line` instead."""

    def receive_end(self, reason: str) -> None:
        """Handle the end of the lines; `reason` is a phrase that follows "it". Called once."""

    def receive_error(self, error: Exception) -> None:
        """Handle an internal error of the other methods, which the event loop would only log."""


class EngineProcess:
    """The pipes of one engine. Lines other than moves are kept with its stderr."""

    def __init__(
        self, started: Started, listener: Listener, now: Now, on_output: Callable[[bytes], None] | None = None
    ) -> None:
        """Start reading. `on_output` receives its stderr, and notes, as they arrive."""
        self.scratch = started.scratch
        self.pid = started.pid
        self._started = started
        self._listener = listener
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._stdin, self._stdout = started.stdin, started.stdout
        self._tail = Tail(started.stderr, on_output=on_output)
        self._lines = Lines()
        self._ended = False
        self._allowance = float(_MESSAGES_AT_ONCE)
        self._refilled_us = now()
        self._resuming: asyncio.TimerHandle | None = None
        self._unsent = b""
        """Commands for which a small pipe had no space."""
        self._loop.add_reader(self._stdout, self._readable)

    def send(self, data: bytes) -> int:
        """Write commands. Return the time at which the engine could read them.

        If the engine does not read them, the listener gets its end: a pipe has space for the commands of many games.
        """
        before = self._now()
        if not self._unsent:
            data = data[self._write(data) :]
        if data:
            self._keep(data)
        # The engine often gets the core at once, so the time before the write counts.
        after = self._now()
        if after - before < _WRITE_US:
            return before
        # This process was interrupted before or after the write. The pipe has the time of the write.
        return min(after, max(before, last_write(self._stdin, self._now)))

    def _write(self, data: bytes) -> int:
        """Write what fits into the pipe. Return the number of these bytes; all if the engine has closed the pipe."""
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._loop.call_soon(self._end, _DEAF)
            return len(data)

    def _keep(self, data: bytes) -> None:
        """Keep commands until the pipe has space, up to the bytes that an ordinary pipe holds."""
        if len(self._unsent) + len(data) > _PIPE_BYTES - pipe_bytes(self._stdin):
            self._loop.call_soon(self._end, "does not read its commands")
            return
        if not self._unsent:
            self._loop.add_writer(self._stdin, self._write_unsent)
        self._unsent += data

    def _write_unsent(self) -> None:
        self._unsent = self._unsent[self._write(self._unsent) :]
        if not self._unsent:
            self._loop.remove_writer(self._stdin)

    def last_write(self) -> int:
        """Return the time at which the engine wrote last; see `stamped_pipes.last_write`."""
        return last_write(self._stdout, self._now)

    def read_pending(self) -> None:
        """Read what the engine has written, because an answer in the pipe counts even if the event loop comes late."""
        for _ in range(_PIPE_BYTES // _READ_BYTES):
            if self._ended or self._resuming is not None or not self._read():
                break

    def note(self, text: str) -> None:
        """Add a line to the engine's stderr."""
        self._tail.add(f"{text}\n".encode())

    def kill(self, signal: int) -> None:
        """Send a signal to the engine and its own processes."""
        self._started.kill(signal)

    @property
    def stderr(self) -> str:
        """Return the last 64 KB of its stderr, with notes."""
        return self._tail.text

    async def stop(self, reason: str, seconds: float) -> Death:
        """Send END, wait up to `seconds` for the engine to end, then kill it and its processes.

        `reason` is the engine's fault. If it is empty, or the engine has only closed a pipe, its exit code decides.
        """
        self._ended = True
        if self._resuming is not None:
            self._resume()
        self._loop.remove_writer(self._stdin)
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
            self._listener.receive_error(error)

    def _read(self) -> bool:
        """Read once. Return whether there was anything."""
        # The time before the read counts: the engine must not pay for the time that its lines take here.
        now = self._now()
        try:
            data = os.read(self._stdout, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._stdout)
        if self._ended:
            return bool(data)  # the lines do not count, but the engine could not end if its pipe stayed full
        lines = self._lines.feed(data) if data else self._lines.rest()
        if len(lines) > _FEW_LINES:
            self._pass_on(lines, now)
        else:
            for line in lines:
                self._listener.receive_line(line, now)
            self._allowance -= _LINE_COST * len(lines)
        if not data:
            self._end(_CLOSED)
        elif self._allowance < 0:
            self._limit_reading(now)
        return bool(data)

    def _pass_on(self, lines: Sequence[str], now: int) -> None:
        """Pass on many lines, consecutive messages together."""
        for are_messages, group in groupby(lines, lambda line: line.startswith(_MESSAGES)):
            consecutive = list(group)
            if are_messages and len(consecutive) > _FEW_LINES and self._listener.receive_messages(consecutive, now):
                self._allowance -= len(consecutive)
                continue
            for line in consecutive:
                self._listener.receive_line(line, now)
            self._allowance -= _LINE_COST * len(consecutive)

    def _limit_reading(self, now: int) -> None:
        """Refill the allowance. Stop reading for a while if the engine has written too many lines."""
        earned = (now - self._refilled_us) * (_MESSAGES_A_SECOND / 1_000_000)
        self._allowance = min(_MESSAGES_AT_ONCE, self._allowance + earned)
        self._refilled_us = now
        if self._allowance < 0 and not self._ended:
            self._loop.remove_reader(self._stdout)
            self._resuming = self._loop.call_later(-self._allowance / _MESSAGES_A_SECOND, self._resume)

    def _resume(self) -> None:
        assert self._resuming is not None
        self._resuming.cancel()
        self._resuming = None
        self._loop.add_reader(self._stdout, self._readable)

    def _end(self, reason: str) -> None:
        if not self._ended:
            self._ended = True
            try:
                self._listener.receive_end(reason)
            except Exception as error:
                self._listener.receive_error(error)
