"""Stalls of the server: the event loop ran late, because the machine gave it no processor time or a call blocked it."""

from collections import deque

from noughts_referee.monotonic import Now, microseconds

LEAST_US = 20_000
"""The shortest delay that counts. On an idle machine a timer is late by a millisecond or two."""
MOST_US = 60_000_000
"""The largest credit of one question, so that a bot cannot gain hours by stalling the server."""
_REMEMBERED = 4_096


class Stalls:
    """Periods in which the server could not read answers, and clocks do not run. Times are microseconds.

    A task must call `expect` before the event loop waits for the first time, and `came` after each wait.
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
        self._period = 0

    def expect(self, seconds: float) -> None:
        """Record that the loop should run again in this time."""
        self._period = round(seconds * 1e6)
        self._due = self._now() + self._period

    def came(self) -> float:
        """Record that the loop has run, and that it should run again in the same time. Return its delay in seconds.

        Both are one step: a stall between the two would not be seen.
        """
        if self._due is None:
            return 0.0
        now = self._now()
        late, began = now - self._due, self._began(now)
        self._due = now + self._period
        if began is not None:
            self.count += 1
            self.total_us += now - began
            self._spans.append((began, now))
        return max(0, late) / 1e6

    def within(self, since: int, until: int) -> int:
        """Return the length of the stalls between these times, at most 60 s. `until` is now."""
        began = self._began(until)
        stood = 0 if began is None else until - max(since, began)
        for begin, end in reversed(self._spans):
            if end <= since:
                break
            stood += end - max(since, begin)
        return min(stood, MOST_US)

    def _began(self, now: int) -> int | None:
        """Return the start of the current stall; None if there is none."""
        if self._due is None or now - self._due <= LEAST_US:
            return None
        # A long stall can have begun at any time since the loop last ran, so the bots get the benefit of the doubt.
        return self._due - self._period if now - self._due > self._period else self._due
