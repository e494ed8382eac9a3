"""How long the way to a bot and back takes: measured by heartbeats, and not charged to its clocks."""

from collections import deque

_REMEMBERED = 8


class RoundTrips:
    """The latest round trips of one connection. Times are microseconds.

    The shortest of them counts: whatever else kept an echo waiting, the network did not. A bot that delays its echoes
    gains no more than the cap.
    """

    __slots__ = ("_cap_us", "_latest", "_sent_at")

    def __init__(self, cap_us: int) -> None:
        self._cap_us = cap_us
        self._latest: deque[int] = deque(maxlen=_REMEMBERED)
        self._sent_at: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether they are counted at all."""
        return self._cap_us > 0

    @property
    def waiting(self) -> bool:
        """Whether a heartbeat is on its way."""
        return self._sent_at is not None

    @property
    def credit_us(self) -> int:
        """What no move is charged; 0 as long as nothing is known."""
        return min(min(self._latest, default=0), self._cap_us)

    def sent(self, now: int) -> None:
        """A heartbeat is on its way."""
        self._sent_at = now

    def echoed(self, now: int, *, busy: bool) -> None:
        """It has come back. From a bot that was `busy` it may have waited for a move to be found.

        Such an echo can show that the way is shorter than was known, and never that it is longer.
        """
        assert self._sent_at is not None
        took, self._sent_at = now - self._sent_at, None
        if not busy or took < min(self._latest, default=0):
            self._latest.append(took)
