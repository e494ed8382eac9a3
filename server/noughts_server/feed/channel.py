"""A channel: one thing that is watched, whatever it is."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.work_units import FinishedGame
from noughts_server.errors import Unavailable
from noughts_server.feed.observer import SlotKey
from noughts_server.feed.watcher import FeedCounts, Watcher
from noughts_server.store.games.results import TournamentProgress


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """Limits of the feed. Times in seconds."""

    kept_events: int = 1_024
    """So many messages of a channel are kept for those who come back."""
    buffered_events: int = 1_024
    """So many messages may wait for one watcher of a game; more, and it is told to resync."""
    buffered_frames: int = 64
    """The same for watchers of tournaments, whose messages are larger and fewer."""
    interval: float = 0.25
    """Between two messages about a tournament."""
    linger: float = 10.0
    """How long a channel lives without watchers, so that those who lost their connection can resume."""
    boards: int = 4
    """Games of a tournament that are shown move by move."""


class Numbering(NamedTuple):
    """What a new channel gets from the feed."""

    settings: FeedSettings
    counts: FeedCounts
    epoch: int
    sequence: int
    """Larger than any number of an earlier channel, so that numbers of that are not taken for numbers of this."""


class Channel:
    """Numbers what happens, keeps the last of it, and hands it to its watchers."""

    def __init__(self, numbering: Numbering, buffered: int) -> None:
        """At most so many messages are buffered for a watcher."""
        self.view = View()
        self.sequence = numbering.sequence
        """The number of the last increments."""
        self.over = False
        self.closed: Unavailable | None = None
        self.watchers: set[Watcher] = set()
        self.left_at = 0.0
        """When the last watcher left."""
        self._epoch = numbering.epoch
        self._counts = numbering.counts
        self._buffered = buffered
        self._kept: deque[bytes] = deque(maxlen=numbering.settings.kept_events)

    # For the feed.

    async def load(self) -> None:
        """Reads what there is to know before the first watcher is let in. Raises NotFound."""
        raise NotImplementedError

    async def tick(self) -> None:
        """Called every `FeedSettings.interval`."""

    def played(self, slot: SlotKey, event: pb.WatchedGame | pb.WatchedPly) -> None:
        """Something happened in a game that the channel follows."""

    def stored(self, slot: SlotKey, game: FinishedGame) -> None:
        """A game that the channel follows was committed."""

    def progressed(self, progress: TournamentProgress, packed_moves: int) -> None:
        """Games of a tournament were committed, with so many bytes of moves."""

    def changed(self, tournament: int) -> None:
        """A tournament was started, paused or cancelled."""

    def release(self) -> None:
        """The channel is no longer needed."""

    # For watchers.

    def join(self, from_sequence: int, epoch: int) -> Watcher:
        """A new watcher: what it missed, if that is kept, else a snapshot."""
        if not from_sequence and not epoch:
            first = [self._serialised(snapshot=self.view.snapshot())]
        elif epoch == self._epoch and 0 <= self.sequence - from_sequence <= len(self._kept):
            first = list(islice(self._kept, len(self._kept) - (self.sequence - from_sequence), None))
        else:
            self._counts.resyncs += 1
            first = self.resynced(pb.Resync.REASON_NOT_KEPT)
        watcher = Watcher(self, first, self._buffered, self._counts)
        self.watchers.add(watcher)
        return watcher

    def resynced(self, reason: "pb.Resync.Reason.ValueType") -> list[bytes]:
        """A resync and a snapshot, serialised."""
        return [self._serialised(resync=pb.Resync(reason=reason)), self._serialised(snapshot=self.view.snapshot())]

    def close(self, reason: Unavailable) -> None:
        """Streams end with the reason as soon as they have told the rest."""
        self.closed = reason
        self._for_all(Watcher.wake)

    # For subclasses.

    def emit(self, increments: pb.Increments) -> None:
        """Something happened: applied to the view, numbered, serialised once, handed to all."""
        self.view.apply(increments)
        self.sequence += 1
        message = self._serialised(increments=increments)
        self._kept.append(message)
        for watcher in self.watchers:
            watcher.offer(message)

    def start_again(self, reason: "pb.Resync.Reason.ValueType") -> None:
        """The view was replaced: no increments lead from what was known to what is."""
        self.sequence += 1
        self._kept.clear()
        self._for_all(lambda watcher: watcher.resync(reason))

    def finish(self) -> None:
        """Nothing will happen any more: streams end when they have told the rest."""
        self.over = True
        self._for_all(Watcher.wake)

    def _for_all(self, action: Callable[[Watcher], None]) -> None:
        for watcher in self.watchers:
            action(watcher)

    def _serialised(
        self,
        *,
        snapshot: pb.WatchSnapshot | None = None,
        increments: pb.Increments | None = None,
        resync: pb.Resync | None = None,
    ) -> bytes:
        self._counts.events += 1
        response = pb.WatchResponse(
            epoch=self._epoch, sequence=self.sequence, snapshot=snapshot, increments=increments, resync=resync
        )
        return response.SerializeToString()
