"""One who watches: a bounded buffer between a channel and a stream, so that nobody who reads slowly costs others."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Protocol

from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.errors import Unavailable


@dataclass(slots=True)
class FeedCounts:
    """What the feed has done since the server started."""

    watchers: int = 0
    """Streams that are open now."""
    events: int = 0
    """Messages that were made, each serialised once."""
    frames: int = 0
    """Messages that were handed to watchers' streams."""
    resyncs: int = 0
    """Watchers that were told to resync."""


class Source(Protocol):
    """What a watcher needs of its channel."""

    over: bool
    """Nothing will happen any more."""
    closed: Unavailable | None
    """Why streams end before it is over."""

    def resynced(self, reason: "pb.Resync.Reason.ValueType") -> list[bytes]:
        """A resync and a snapshot, serialised."""


class Watcher:
    """A stream's end of a channel."""

    def __init__(self, source: Source, first: Iterable[bytes], most_buffered: int, counts: FeedCounts) -> None:
        self._source = source
        self._buffer = deque(first)
        self._most = max(most_buffered, len(self._buffer))
        self._counts = counts
        self._resync = pb.Resync.REASON_UNSPECIFIED
        """Why it is to be told to resync; nothing is buffered then."""
        self._news = asyncio.Event()

    def offer(self, message: bytes) -> None:
        """Puts a message into the buffer; one too many empties it."""
        if self._resync:
            return
        if len(self._buffer) >= self._most:
            self.resync(pb.Resync.REASON_FELL_BEHIND)
        else:
            self._buffer.append(message)
        self._news.set()

    def resync(self, reason: "pb.Resync.Reason.ValueType") -> None:
        """What is buffered is worth nothing any more; a snapshot will follow as soon as the stream takes one."""
        self._buffer.clear()
        self._resync = reason
        self._news.set()

    def wake(self) -> None:
        """The channel is over, or closing."""
        self._news.set()

    async def messages(self) -> AsyncIterator[bytes]:
        """What is to be written, until the watched thing is over. Raises what the channel was closed with."""
        while True:
            if self._resync:
                # Both at once: what happens while they are being written goes into the buffer.
                self._buffer.extend(self._source.resynced(self._resync))
                self._resync = pb.Resync.REASON_UNSPECIFIED
                self._counts.resyncs += 1
            while self._buffer:
                self._counts.frames += 1
                yield self._buffer.popleft()
            if self._resync:
                continue
            if self._source.over:
                return
            if self._source.closed is not None:
                raise self._source.closed
            self._news.clear()
            await self._news.wait()
