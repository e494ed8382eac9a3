"""The network time to a bot and back. Heartbeats measure it, and the bot's clocks are not charged for it."""

from collections import deque

_REMEMBERED = 8
"""The number of round trips from which the shortest one counts."""


class RoundTrips:
    """The latest round trips of one connection, in microseconds.

    The shortest one counts, because longer ones include other delays. A bot that delays its echoes gains at most the
    cap.
    """

    __slots__ = ("_cap_us", "_latest", "_sent_at")

    def __init__(self, cap_us: int) -> None:
        self._cap_us = cap_us
        self._latest: deque[int] = deque(maxlen=_REMEMBERED)
        self._sent_at: int | None = None

    @property
    def is_measured(self) -> bool:
        """Return whether round trips are measured."""
        return self._cap_us > 0

    @property
    def awaits_echo(self) -> bool:
        """Return whether a heartbeat has not been echoed yet."""
        return self._sent_at is not None

    @property
    def credit_us(self) -> int:
        """Return the time that is not charged to each move; 0 before the first measurement."""
        return min(min(self._latest, default=0), self._cap_us)

    def record_sent(self, now: int) -> None:
        """Record that a heartbeat is sent now, in microseconds."""
        self._sent_at = now

    def record_echo(self, now: int, *, busy: bool) -> None:
        """Record the echo of the last heartbeat. While the bot is `busy` with a move, only a shorter trip counts."""
        assert self._sent_at is not None
        took = now - self._sent_at
        self._sent_at = None
        if not busy or took < min(self._latest, default=0):
            self._latest.append(took)
