"""The pipes of a running engine."""

import shlex
import sys

from noughts_referee.children.launcher import ChildCommand
from noughts_referee.monotonic import microseconds
from noughts_server.engines.engine_process import _LINES_A_SECOND, _LINES_AT_ONCE, EngineProcess
from noughts_server.launching.launcher import Locking, launching
from tests.support.loopback import until

IN_A_PIPE = 1 << 14
"""Bytes that are read at once; each line has more than one."""


class Counting:
    """Counts lines."""

    def __init__(self) -> None:
        self.lines = 0
        self.failures: list[Exception] = []

    def said(self, line: str, now: int) -> None:
        self.lines += 1

    def ended(self, reason: str) -> None:
        pass

    def failed(self, error: Exception) -> None:
        self.failures.append(error)


async def test_an_engine_that_talks_without_end_is_heard_at_a_bounded_rate_and_can_be_stopped() -> None:
    listener = Counting()
    command = ChildCommand("exec", shlex.join([sys.executable, "-c", "while True: print('MESSAGE ' * 3)"]))
    async with launching(Locking.OFF, lambda line: None, 0) as launcher:
        began = microseconds()
        process = EngineProcess(await launcher.start(command), listener, microseconds)
        await until(lambda: listener.lines >= _LINES_AT_ONCE + _LINES_A_SECOND // 2)
        seconds = (microseconds() - began) / 1_000_000
        await process.stop("talked", 0.1)
    assert listener.failures == []
    assert listener.lines <= _LINES_AT_ONCE + _LINES_A_SECOND * seconds + IN_A_PIPE
    assert seconds >= 0.4
