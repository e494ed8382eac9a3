"""The state of a child's frames on any carrier, and the limits on their bytes and on frames without an answer."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.clock import MICROSECONDS
from noughts_referee.monotonic import Now, microseconds

MOST_UNASKED = 100_000
"""Frames that a child can send between two frames of the referee: more than one for each open question."""
MOST_EMPTY = 1_000
"""Frames without moves that a child can send between two frames of the referee."""

_BURST_BYTES = 4 << 20
"""The largest allowance: bytes that a child can send at once, in addition to its answers."""
_BYTES_A_SECOND = 2_000_000
"""Bytes by which the allowance grows each second."""
_FREE_BYTES = 8 * 1024
"""Bytes of each answer that do not count. Each frame of the referee also restores the allowance by this number."""
_BYTES_OF_A_FRAME = 1_000
"""Bytes that each frame counts in addition to its size."""
_SHOWN_BYTES = 200
"""Bytes of an invalid message that a report shows."""


class ChildFrames(ABC):
    """The frames of a child; subclasses read and write them."""

    first = "say Hello"
    """The child's first duty, as a phrase that follows "did not"."""

    def __init__(self, now: Now = microseconds) -> None:
        self._now = now
        self.reason = ""
        """The reason for the end of the frames, a phrase that follows "it". Empty before the end."""
        self.at_fault = False
        """Whether the child sent something that no player is allowed to send."""
        self.offending = b""
        """The beginning of such data."""
        self.last_read_us = now()
        """The time at which the last frame of the child was read."""
        self.written = 0
        """Number of frames sent to the child."""
        self.has_answered = False
        """Whether the child has ever answered a question."""
        self._unasked = 0
        """Frames since the referee's last frame."""
        self._empty = 0
        """Frames without moves since the referee's last frame."""
        self._allowance = _BURST_BYTES
        """Bytes that the child can send at once, in addition to its answers.

        Time and the referee's frames restore them.
        """
        self._restored_us = now()
        """The time up to which `_allowance` is restored."""

    @abstractmethod
    async def read(self) -> pb.PlayRequest | None:
        """Return the next frame; None after the last one, with the cause in `reason`."""

    @property
    def last_write(self) -> Callable[[], int] | None:
        """A function that returns the time of the child's last write in microseconds; None if the carrier has none."""
        return None

    @abstractmethod
    async def write(self, frame: pb.PlayResponse) -> None:
        """Send a frame. Only one call can run at a time."""

    def _count_written(self) -> None:
        self._unasked = 0
        self._empty = 0
        self.written += 1
        self._allowance = min(_BURST_BYTES, self._allowance + _FREE_BYTES)

    async def _wait_for_allowance(self) -> None:
        """Wait if the child has sent much more than answers, because reading that delays other players."""
        if self._allowance >= 0:
            return
        now = self._now()
        restored_bytes = (now - self._restored_us) * _BYTES_A_SECOND // MICROSECONDS
        self._allowance = min(_BURST_BYTES, self._allowance + restored_bytes)
        self._restored_us = now
        if self._allowance < 0:
            await asyncio.sleep(-self._allowance / _BYTES_A_SECOND)

    def _count_read(self, request: pb.PlayRequest, size: int) -> pb.PlayRequest | None:
        """Count a frame of `size` bytes and return it. If the child has sent too many, refuse it and return None."""
        self._unasked += 1
        # Answers are free: the connection ends anyway if there are more of them than questions.
        answers = len(request.moves.game) + len(request.choices)
        self._allowance -= max(0, size + _BYTES_OF_A_FRAME - _FREE_BYTES * answers)
        if request.HasField("moves"):
            self.has_answered = True
        else:
            self._empty += 1
        if self._empty > MOST_EMPTY or self._unasked > MOST_UNASKED:
            self._refuse(f"sent {self._unasked:,} unrequested frames")
            return None
        return request

    def _refuse(self, reason: str, message: bytes = b"") -> None:
        """End the frames for a fault of the child, which sent this message."""
        self.at_fault = True
        self.offending = message[:_SHOWN_BYTES]
        self._end(reason)

    def _end(self, reason: str) -> None:
        """Mark the end of the frames, and wake a waiting `read`."""
        if not self.reason:
            self.reason = reason
