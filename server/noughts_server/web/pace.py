"""A rate with a burst: how long a caller must wait so that it stays below a number of requests a second."""

from collections.abc import Callable


class Pace:
    """The pace of one caller (generic cell rate algorithm)."""

    __slots__ = ("_burst_seconds", "_clock", "_free_at", "_seconds")

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        """`rate` is in requests a second; `burst` requests can come at once. `clock` returns seconds."""
        self._seconds = 1 / rate
        self._burst_seconds = burst / rate
        self._clock = clock
        self._free_at = clock()
        """The time at which the caller has its whole burst again."""

    def take(self) -> float:
        """Count a request, and return the seconds that it must wait; 0 or less if it need not."""
        now = self._clock()
        self._free_at = max(self._free_at, now) + self._seconds
        return self._free_at - now - self._burst_seconds

    def refund(self) -> None:
        """Take a request back that was refused."""
        self._free_at -= self._seconds
