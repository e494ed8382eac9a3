"""What is known of the frames of a child, whatever carries them, and how many of them are too many."""

from abc import ABC, abstractmethod

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.monotonic import Now, microseconds

MOST_UNASKED = 100_000
MOST_EMPTY = 1_000
"""Frames that a child may send between two of ours: more than one for each answer that it can owe; without answers."""

_SHOWN_BYTES = 200


class ChildFrames(ABC):
    """What a child sends and is sent."""

    first = "say Hello"
    """What it has to do first, a phrase."""

    def __init__(self, now: Now = microseconds) -> None:
        self._now = now
        self.reason = ""
        """Why nothing more comes, once that is so; a phrase that follows "it"."""
        self.at_fault = False
        """Whether it sent what no player may send."""
        self.offending = b""
        """The beginning of what it should not have sent."""
        self.last_read_us = now()
        """When the child was last heard of."""
        self.written = 0
        """Frames to the child."""
        self.answered = False
        """Whether the child has ever answered a question."""
        self._unasked = self._empty = 0

    @abstractmethod
    async def read(self) -> pb.PlayRequest | None:
        """The next frame; None when there will be no more: `reason` says why."""

    @abstractmethod
    async def write(self, frame: pb.PlayResponse) -> None:
        """Sends a frame; one at a time."""

    def _count_written(self) -> None:
        self._unasked = self._empty = 0
        self.written += 1

    def _counted(self, request: pb.PlayRequest) -> pb.PlayRequest | None:
        """The frame, unless it was one too many."""
        self._unasked += 1
        if request.HasField("moves"):
            self.answered = True
        else:
            self._empty += 1
        if self._empty > MOST_EMPTY or self._unasked > MOST_UNASKED:
            self._refuse(f"sent {self._unasked:,} frames that nobody asked for")
            return None
        return request

    def _refuse(self, reason: str, message: bytes = b"") -> None:
        self.at_fault = True
        self.offending = message[:_SHOWN_BYTES]
        self._end(reason)

    def _end(self, reason: str) -> None:
        """Nothing more comes; whoever waits for more is told."""
        if not self.reason:
            self.reason = reason
