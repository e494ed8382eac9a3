"""When the server stood still: its event loop came late, for the machine, or somebody, gave it no time."""

from collections import deque

from noughts_referee.monotonic import Now, microseconds

LEAST_US = 20_000
"""How late the loop must come for it to count. A timer is late by a millisecond or two on a machine that idles."""
MOST_US = 60_000_000
"""What of it a single question is credited at most: a bot must not gain hours by bringing the server to a halt."""
_REMEMBERED = 4_096


class Stalls:
    """Moments in which no bot's answer could have been taken; clocks do not run in them. Times are microseconds.

    Somebody has to tell, again and again, when the loop is expected to come next (`expect`) and that it has (`came`).
    """

    def __init__(self, now: Now = microseconds) -> None:
        self.count = 0
        self.total_us = 0
        self.excused = 0
        """Questions that would have been lost on time otherwise."""
        self._now = now
        self._spans: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        """From when to when, oldest first."""
        self._due: int | None = None
        self._period = 0

    def expect(self, seconds: float) -> None:
        """The loop will come in so long, unless it is kept from it."""
        self._period = round(seconds * 1e6)
        self._due = self._now() + self._period

    def came(self) -> float:
        """The loop has come; returns how late, in seconds."""
        if self._due is None:
            return 0.0
        now = self._now()
        late, began = now - self._due, self._began(now)
        self._due = None
        if began is not None:
            self.count += 1
            self.total_us += now - began
            self._spans.append((began, now))
        return max(0, late) / 1e6

    def within(self, since: int, until: int) -> int:
        """How long it stood still between these moments, of which the later is now; 60 s at most."""
        began = self._began(until)
        stood = 0 if began is None else until - max(since, began)
        for begin, end in reversed(self._spans):
            if end <= since:
                break
            stood += end - max(since, begin)
        return min(stood, MOST_US)

    def _began(self, now: int) -> int | None:
        """Since when it stands still, as far as is known; None: it does not."""
        if self._due is None or now - self._due <= LEAST_US:
            return None
        # A long halt may have begun at any moment since the loop was here last: bots have the benefit of the doubt.
        return self._due - self._period if now - self._due > self._period else self._due
