"""A watcher: a bounded buffer between a channel and a stream, so that a slow reader costs others nothing."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noughts_proto.v1 import feed_pb2 as pb

if TYPE_CHECKING:
    from noughts_server.feed.channel import Channel


@dataclass(slots=True)
class FeedCounts:
    """The counters of the feed since the server's start."""

    watchers: int = 0
    """Open streams."""
    events: int = 0
    """Messages created, each serialised once."""
    frames: int = 0
    """Messages passed to watchers' streams."""
    resyncs: int = 0
    """Watchers that had to resync."""


class Watcher:
    """The stream's end of a channel."""

    def __init__(self, source: "Channel", first: Iterable[bytes], most_buffered: int, counts: FeedCounts) -> None:
        self._source = source
        self._buffer = deque(first)
        self._most = max(most_buffered, len(self._buffer))
        self._counts = counts
        self._resync = pb.Resync.REASON_UNSPECIFIED
        """Why it must resync; nothing is buffered then."""
        self._news = asyncio.Event()

    def offer(self, message: bytes) -> None:
        """Buffer a message; if the buffer is full, empty it and resync."""
        if self._resync:
            return
        if len(self._buffer) >= self._most:
            self.resync(pb.Resync.REASON_FELL_BEHIND)
        else:
            self._buffer.append(message)
        self._news.set()

    def resync(self, reason: "pb.Resync.Reason.ValueType") -> None:
        """Drop the buffer; a snapshot follows as soon as the stream takes one."""
        self._buffer.clear()
        self._resync = reason
        self._news.set()

    def wake(self) -> None:
        """Wake the stream because the channel is over or closing."""
        self._news.set()

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield the messages until the end. Raises the reason for which the channel was closed."""
        while True:
            if self._resync:
                # Both at once: events during their writing go into the buffer.
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
