"""Stalls of the server: the event loop ran late, because the machine gave it no processor time or a call blocked it."""

import asyncio
from collections import deque
from collections.abc import Callable

from noughts_referee.monotonic import Now, microseconds

LEAST_US = 20_000
"""The shortest delay that counts. On an idle machine a timer is late by a millisecond or two."""
MOST_US = 60_000_000
"""The largest credit of one question, so that a bot cannot gain hours by stalling the server."""
PERIOD_SECONDS = 0.02
"""Expected seconds between two runs of the loop."""
_REMEMBERED = 4_096
"""Limit of the stalls that are remembered."""
_MOST_IN_A_ROW = 2
"""Consecutive stalls that count as one."""


class Stalls:
    """Periods in which the server could not read answers. Times are microseconds.

    A player can think while the server is stalled. The server does not charge the time for which an answer that has
    arrived waits to be read.

    A task must run `watch`, or call `expect` before the loop waits for the first time and `record_run` after each wait.
    """

    def __init__(self, now: Now = microseconds) -> None:
        self.count = 0
        self.total_us = 0
        self.excused = 0
        """Questions that would otherwise have been lost on time."""
        self._now = now
        self._spans: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        """Start and end of each stall, oldest first."""
        self._due: int | None = None
        """The time at which the loop should run again; None before the first call of `expect`."""
        self._period = 0

    async def watch(
        self, seconds: float = PERIOD_SECONDS, observe: Callable[[float], None] = lambda delay: None
    ) -> None:
        """Watch the running loop until cancelled. `observe` gets the delay of each wait in seconds."""
        self.expect(seconds)
        while True:
            await asyncio.sleep(seconds)
            observe(self.record_run())

    def expect(self, seconds: float) -> None:
        """Record that the loop should run again in this time."""
        self._period = round(seconds * 1e6)
        self._due = self._now() + self._period

    def record_run(self) -> float:
        """Record that the loop has run and should run again after the same period. Return its delay in seconds.

        One method does both, because a stall between two calls would not be noticed.
        """
        if self._due is None:
            return 0.0
        now = self._now()
        delay_us = now - self._due
        stall_start = self._current_stall_start(now)
        self._due = now + self._period
        if stall_start is not None:
            self.count += 1
            self.total_us += now - stall_start
            self._spans.append((stall_start, now))
        return max(0, delay_us) / 1e6

    def arrival_time(self, now: int, last_write: Callable[[], int] | None = None) -> int:
        """Return the time at which an answer arrived that is read now.

        `last_write` returns the time of the last write to the player's pipe, if the system dates writes. A wrong time
        gains a player at most the time since the loop last ran. Without `last_write`, the result is the start of the
        stall: the earliest time at which the answer can have arrived.
        """
        if self._due is None:
            return now
        stall_start = self._stalled_since(now)
        if last_write is None:
            return stall_start
        last_run = min(stall_start, self._due - self._period)
        if now - last_run <= LEAST_US:
            return now
        return min(now, max(last_run, last_write()))

    def within(self, since: int, until: int) -> int:
        """Return the length of the stalls between these times in microseconds, at most 60 s. `until` is now."""
        stall_start = self._current_stall_start(until)
        stalled_us = 0 if stall_start is None else until - max(since, stall_start)
        for begin, end in reversed(self._spans):
            if end <= since:
                break
            stalled_us += end - max(since, begin)
        return min(stalled_us, MOST_US)

    def _stalled_since(self, now: int) -> int:
        """Return the start of the stall that lasts or has just ended; `now` if there is none.

        Between the arrival of an answer and its reading the loop runs a few times. Therefore a stall counts as just
        ended until the loop has run on time once, and two stalls in a row count as one.
        """
        assert self._due is not None
        current_start = self._current_stall_start(now)
        last_run = self._due - self._period
        starts = [] if current_start is None else [current_start]
        for begin, end in reversed(self._spans):
            if end != last_run or len(starts) == _MOST_IN_A_ROW:
                break
            starts.append(begin)
            last_run = begin
        return max(starts[-1], now - MOST_US) if starts else now

    def _current_stall_start(self, now: int) -> int | None:
        """Return the start of the current stall; None if there is none."""
        if self._due is None or now - self._due <= LEAST_US:
            return None
        # A long stall can have begun at any time since the loop last ran. The earliest time favours the bots.
        return self._due - self._period if now - self._due > self._period else self._due
