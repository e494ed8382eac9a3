"""Reading and writing the pipes of a running engine."""

import fcntl
import shlex
import sys
from collections.abc import Sequence

import pytest

from noughts_referee.children.launcher import ChildCommand
from noughts_referee.monotonic import microseconds
from noughts_server.engines.engine_process import _LINE_COST, _MESSAGES_A_SECOND, _MESSAGES_AT_ONCE, EngineProcess
from noughts_server.launching.launcher import SandboxMode, launching
from tests.support.loopback import wait_until

IN_A_PIPE = 1 << 14
"""Largest number of lines that one read of the pipe can return, because each line has more than one byte."""


class CountingListener:
    """A listener that counts lines, and accepts messages together or only one by one."""

    def __init__(self, *, together: bool = True) -> None:
        self.lines = self.together = 0
        self.failures: list[Exception] = []
        self.reasons: list[str] = []
        self._takes_together = together

    def receive_line(self, line: str, now: int) -> None:
        self.lines += 1

    def receive_messages(self, messages: Sequence[str], now: int) -> bool:
        self.together += len(messages) * self._takes_together
        return self._takes_together

    def receive_end(self, reason: str) -> None:
        self.reasons.append(reason)

    def receive_error(self, error: Exception) -> None:
        self.failures.append(error)


@pytest.mark.parametrize("together", [True, False])
async def test_a_talkative_engine_is_read_at_a_limited_rate(together: bool) -> None:
    listener = CountingListener(together=together)
    cost = 1 if together else _LINE_COST
    command = ChildCommand("exec", shlex.join(["/bin/sh", "-c", "yes MESSAGE of three words"]))
    async with launching(SandboxMode.OFF, lambda line: None, 0) as launcher:
        began = microseconds()
        process = EngineProcess(await launcher.start(command), listener, microseconds)
        await wait_until(lambda: listener.lines + listener.together >= 1.5 * _MESSAGES_AT_ONCE / cost)
        seconds = (microseconds() - began) / 1_000_000
        await process.stop("talked", 0.1)
    assert listener.failures == []
    cost_of_lines = listener.lines * _LINE_COST + listener.together
    assert cost_of_lines <= _MESSAGES_AT_ONCE + _MESSAGES_A_SECOND * seconds + IN_A_PIPE * cost
    assert seconds >= 0.4


async def test_lines_reach_the_listener_in_order_alone_or_together() -> None:
    received: list[str] = []

    class Keeping(CountingListener):
        def receive_line(self, line: str, now: int) -> None:
            received.append(line)

        def receive_messages(self, messages: Sequence[str], now: int) -> bool:
            received.extend(messages)
            return True

    lines = [*(f"MESSAGE {number} \u00e9" for number in range(500)), "7,7", *["DEBUG  x"] * 20, "8,8"]
    command = ChildCommand("exec", shlex.join([sys.executable, "-c", f"print({chr(10).join(lines)!r})"]))
    async with launching(SandboxMode.OFF, lambda line: None, 0) as launcher:
        process = EngineProcess(await launcher.start(command), Keeping(), microseconds)
        await wait_until(lambda: received[-1:] == ["8,8"])
        await process.stop("ended", 1)
    assert received == lines


async def test_commands_larger_than_a_small_pipe_reach_the_engine() -> None:
    listener = CountingListener()
    commands = b"".join(b"%d,%d,1\n" % divmod(number, 60) for number in range(3_600))
    async with launching(SandboxMode.OFF, lambda line: None, 0) as launcher:
        started = await launcher.start(ChildCommand("exec", shlex.join(["/bin/sh", "-c", "sleep 0.1; exec cat"])))
        # Linux makes such pipes for a user whose other pipes have much memory.
        fcntl.fcntl(started.stdin, fcntl.F_SETPIPE_SZ, 8_192)
        process = EngineProcess(started, listener, microseconds)
        process.send(commands)
        await wait_until(lambda: listener.lines == 3_600)
        await process.stop("", 1.0)
    assert listener.reasons == []


async def test_engine_that_reads_nothing_is_reported_as_ended() -> None:
    listener = CountingListener()
    async with launching(SandboxMode.OFF, lambda line: None, 0) as launcher:
        started = await launcher.start(ChildCommand("exec", "sleep 60"))
        fcntl.fcntl(started.stdin, fcntl.F_SETPIPE_SZ, 8_192)
        process = EngineProcess(started, listener, microseconds)
        for _ in range(5):
            process.send(b"INFO time_left 0\n" * 1_000)
        await wait_until(lambda: listener.reasons)
        await process.stop("", 0.1)
    assert listener.reasons == ["does not read its commands"]
