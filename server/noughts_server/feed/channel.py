"""The base of all channels of the feed: numbered messages, followed slots, and watchers."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.work_units import FinishedGame
from noughts_server.core.errors import Unavailable
from noughts_server.feed.observer import ScheduledGameKey, WatchableGames
from noughts_server.store.games.results import TournamentProgress


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """Limits of the feed. Times are in seconds."""

    kept_events: int = 1_024
    """Messages of a channel that are kept for watchers that reconnect."""
    buffered_events: int = 1_024
    """Messages that can wait for one watcher of a game. With more, the watcher must resync."""
    buffered_frames: int = 64
    """The same limit for a watcher of tournaments, whose messages are larger and fewer."""
    interval: float = 0.25
    """Seconds between two messages about a tournament."""
    linger: float = 10.0
    """Seconds for which a channel without watchers stays, so that watchers that lost their connection can resume."""
    boards: int = 4
    """The number of a tournament's games that a watcher gets move by move, unless it requests `most_boards`."""
    most_boards: int = 9
    """The number of such games for watchers with large screens."""
    reading: float = 0.05
    """Seconds of each interval in which channels can read. The channel with the oldest last reading reads first."""


@dataclass(slots=True)
class FeedCounts:
    """The counters of the feed since the server's start."""

    watchers: int = 0
    """Open streams."""
    events: int = 0
    """Messages that channels created. Each is serialised once."""
    frames: int = 0
    """Messages that were passed to watchers' streams."""
    resyncs: int = 0
    """The number of times that a watcher had to resync."""


@dataclass(slots=True)
class ReadingTime:
    """The time in which channels can read the database until the feed's next interval.

    Tables of many entries take long, and games share the interpreter with their readers.
    """

    left: float = 0.0
    """Seconds that are left. The last reading can take longer."""


class ChannelContext(NamedTuple):
    """The arguments of a new channel: objects that all channels share, and the start of its numbers."""

    settings: FeedSettings
    counts: FeedCounts
    reading_time: ReadingTime
    epoch: int
    sequence: int
    """Larger than all numbers of earlier channels, so that no number has two meanings in an epoch."""


class Channel:
    """A channel numbers events, keeps the last ones, and passes them to its watchers."""

    def __init__(self, context: ChannelContext, buffered: int) -> None:
        """Create a channel; `buffered` limits the messages that wait for a watcher."""
        self.view = View()
        self.sequence = context.sequence
        """The number of the last increments."""
        self.is_over = False
        """Whether there will be no more increments."""
        self.close_reason: Unavailable | None = None
        """The error with which streams end early."""
        self.watchers: set[Watcher] = set()
        self.left_at = 0.0
        """The time at which the last watcher left."""
        self.read_at = 0.0
        """The time at which the channel last read the database."""
        self._epoch = context.epoch
        self._counts = context.counts
        self._buffered = buffered
        self._recent_messages: deque[bytes] = deque(maxlen=context.settings.kept_events)

    # Called by the feed.

    async def load(self) -> None:
        """Read the current state before the first watcher is admitted. Raises NotFound."""
        raise NotImplementedError

    async def tick(self) -> None:
        """Called every `FeedSettings.interval`."""

    def handle_event(self, slot: ScheduledGameKey, event: pb.WatchedGame | pb.WatchedPly) -> None:
        """Handle an event in a game that the channel follows."""

    def handle_stored_game(self, slot: ScheduledGameKey, game: FinishedGame) -> None:
        """Handle the commit of a game that the channel follows."""

    def handle_progress(self, progress: TournamentProgress, packed_moves: int) -> None:
        """Handle the commit of games of a tournament, whose packed moves have `packed_moves` bytes in all."""

    def handle_change(self, tournament: int) -> None:
        """Handle the start, pause or cancellation of a tournament."""

    def release(self) -> None:
        """Release the resources of a channel that is no longer needed."""

    # Called by watchers.

    def join(self, from_sequence: int, epoch: int) -> "Watcher":
        """Return a new watcher. It starts with the missed messages if they are kept, otherwise with a snapshot."""
        if not from_sequence and not epoch:
            first = [self._serialised(snapshot=self.view.snapshot())]
        elif epoch == self._epoch and 0 <= self.sequence - from_sequence <= len(self._recent_messages):
            missed = self.sequence - from_sequence
            first = list(islice(self._recent_messages, len(self._recent_messages) - missed, None))
        else:
            self._counts.resyncs += 1
            first = self.resync_messages(pb.Resync.REASON_NOT_KEPT)
        watcher = Watcher(self, first, self._buffered, self._counts)
        self.watchers.add(watcher)
        return watcher

    def resync_messages(self, reason: "pb.Resync.Reason.ValueType") -> list[bytes]:
        """Return a resync and a snapshot, serialised."""
        return [self._serialised(resync=pb.Resync(reason=reason)), self._serialised(snapshot=self.view.snapshot())]

    def close(self, reason: Unavailable) -> None:
        """End the streams with this error after the remaining messages."""
        self.close_reason = reason
        for watcher in self.watchers:
            watcher.wake()

    # Called by subclasses.

    def emit(self, increments: pb.Increments) -> None:
        """Apply an event to the view, number it, serialise it once and pass it to all watchers."""
        self.view.apply(increments)
        self.sequence += 1
        message = self._serialised(increments=increments)
        self._recent_messages.append(message)
        for watcher in self.watchers:
            watcher.offer(message)

    def resync_watchers(self, reason: "pb.Resync.Reason.ValueType") -> None:
        """Make all watchers resync, because the view was replaced and no increments lead to it."""
        self.sequence += 1
        self._recent_messages.clear()
        for watcher in self.watchers:
            watcher.resync(reason)

    def finish(self) -> None:
        """End the streams after the remaining messages, because there will be no more."""
        self.is_over = True
        for watcher in self.watchers:
            watcher.wake()

    def _serialised(self, **content: Any) -> bytes:
        """Return the response with this content: a snapshot, increments or a resync."""
        self._counts.events += 1
        return pb.WatchResponse(epoch=self._epoch, sequence=self.sequence, **content).SerializeToString()


class GameFollowers:
    """The channels of each followed slot. The observer observes the slots that have a channel."""

    def __init__(self, observer: WatchableGames) -> None:
        self._observer = observer
        self._channels: defaultdict[ScheduledGameKey, list[Channel]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self._channels)

    def __contains__(self, slot: tuple[int, int]) -> bool:
        """Return whether any channel follows the slot."""
        return slot in self._channels

    def of(self, slot: ScheduledGameKey) -> tuple[Channel, ...]:
        """Return the channels that follow the slot."""
        return tuple(self._channels.get(slot, ()))

    def follow(self, slot: ScheduledGameKey, channel: Channel) -> pb.WatchedGame | None:
        """Send all further events of the slot to the channel. Return the slot's game if it is running."""
        self._channels[slot].append(channel)
        return self._observer.observe(slot)

    def leave(self, slot: ScheduledGameKey, channel: Channel) -> None:
        """Undo `follow`."""
        self._channels[slot].remove(channel)
        if not self._channels[slot]:
            del self._channels[slot]
        self._observer.stop_observing(slot)


class Watcher:
    """A bounded buffer between a channel and a stream, so that a slow reader does not slow the others."""

    def __init__(self, source: "Channel", first: Iterable[bytes], most_buffered: int, counts: FeedCounts) -> None:
        self._source = source
        self._buffer = deque(first)
        self._most = max(most_buffered, len(self._buffer))
        self._counts = counts
        self._resync = pb.Resync.REASON_UNSPECIFIED
        """The reason to resync; the buffer is empty until then. UNSPECIFIED: no resync is needed."""
        self._has_news = asyncio.Event()

    @property
    def buffered_bytes(self) -> int:
        """Return the bytes of the messages that wait."""
        return sum(map(len, self._buffer))

    def offer(self, message: bytes) -> None:
        """Buffer a message; if the buffer is full, empty it and resync."""
        if self._resync:
            return
        if len(self._buffer) >= self._most:
            self.resync(pb.Resync.REASON_FELL_BEHIND)
        else:
            self._buffer.append(message)
        self._has_news.set()

    def resync(self, reason: "pb.Resync.Reason.ValueType") -> None:
        """Empty the buffer. The stream then begins again with a snapshot, as soon as it reads the next message."""
        self._buffer.clear()
        self._resync = reason
        self._has_news.set()

    def wake(self) -> None:
        """Wake the stream because the channel is over or closing."""
        self._has_news.set()

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield the messages until the channel is over. Raises the error with which the channel was closed."""
        while True:
            if self._resync:
                # Buffer the resync and the snapshot without a pause between them: later events follow them.
                self._buffer.extend(self._source.resync_messages(self._resync))
                self._resync = pb.Resync.REASON_UNSPECIFIED
                self._counts.resyncs += 1
            while self._buffer:
                self._counts.frames += 1
                yield self._buffer.popleft()
            if self._resync:
                continue
            if self._source.is_over:
                return
            if self._source.close_reason is not None:
                raise self._source.close_reason
            self._has_news.clear()
            await self._has_news.wait()
