"""The feed: a channel for each resource while it is watched."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import structlog

from noughts_server.core.errors import Draining, Unavailable
from noughts_server.core.resource_names import game_id, tournament_id
from noughts_server.feed.channel import (
    Channel,
    FeedCounts,
    FeedSettings,
    Numbering,
    ReadingTime,
    SlotFollowers,
    Watcher,
)
from noughts_server.feed.game_channel import GameChannel
from noughts_server.feed.observer import GameEvent, Observed, SlotKey
from noughts_server.feed.tournament_channel import TournamentsChannel
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.tournament_play import CHANGED
from noughts_server.store.engine.database import Store
from noughts_server.store.games.results import CommitReport

logger = structlog.get_logger("noughts.feed")

FEATURED = "featured"
"""The name of the channel of everything featured."""


class Feed:
    """The feed admits watchers and drives the channels."""

    def __init__(self, store: Store, observer: Observed, bus: Bus, settings: FeedSettings) -> None:
        self.settings = settings
        self.counts = FeedCounts()
        self.epoch = secrets.randbits(64) or 1
        """The epoch of this server's numbers."""
        self._store = store
        self._bus = bus
        self._observer = observer
        self._followers = SlotFollowers(self._observer)
        self._channels: dict[str, Channel] = {}
        self._reading_time = ReadingTime()
        self._opening = asyncio.Lock()
        self._opened = asyncio.Event()
        self._sequence = 0
        """No earlier channel had a larger number."""
        self._closing = False

    @asynccontextmanager
    async def feeding(self) -> AsyncIterator[None]:
        """Serve watchers while the block runs."""
        with (
            self._observer.listening(self._played),
            listening(self._bus, COMMITTED, self._committed),
            listening(self._bus, CHANGED, self._changed),
        ):
            async with running(self._tick()):
                try:
                    yield
                finally:
                    self.close()

    @asynccontextmanager
    async def watching(self, name: str, from_sequence: int = 0, epoch: int = 0) -> AsyncIterator[Watcher]:
        """Watch `tournaments/ID`, `tournaments/ID/games/N` or `featured`, from where an earlier watcher stopped.

        Raises InvalidArgument, NotFound, Draining.
        """
        if self._closing:
            raise Draining()
        self.counts.watchers += 1
        try:
            channel = await self._channel(name)
            watcher = channel.join(from_sequence, epoch)
            try:
                yield watcher
            finally:
                channel.watchers.discard(watcher)
                channel.left_at = asyncio.get_running_loop().time()
        finally:
            self.counts.watchers -= 1

    def close(self) -> None:
        """Make every stream end after its remaining messages. Further calls do nothing."""
        self._closing = True
        for channel in self._channels.values():
            channel.close(Draining())

    async def _channel(self, name: str) -> Channel:
        channel = self._channels.get(name)
        if channel is None:
            async with self._opening:
                channel = self._channels.get(name) or await self._open(name)
        return channel

    async def _open(self, name: str) -> Channel:
        channel = self._new(name)
        try:
            await channel.load()
        except BaseException:
            channel.release()
            raise
        channel.left_at = asyncio.get_running_loop().time()
        if self._closing:
            channel.close(Draining())
        self._channels[name] = channel
        self._opened.set()
        return channel

    def _new(self, name: str) -> Channel:
        numbering = Numbering(self.settings, self.counts, self._reading_time, self.epoch, self._sequence)
        if "/games/" in name:
            slug, ordinal = game_id("name", name)
            return GameChannel(slug, ordinal, self._store, self._followers, numbering)
        tournament = None if name == FEATURED else tournament_id("name", name)
        return TournamentsChannel(tournament, self._store, self._followers, self._observer, numbering)

    # Events. They arrive during a game, a commit or a call, so errors of the feed must not reach the caller.

    def _played(self, played: GameEvent) -> None:
        for channel in self._followers.of(played.slot):
            with self._alone(channel):
                channel.played(played.slot, played.event)

    def _committed(self, report: CommitReport) -> None:
        if not self._channels and not self._followers:
            return
        packed_moves: Counter[int] = Counter()
        for game in report.games:
            packed_moves[game.tournament] += len(game.moves)
            if (game.tournament, game.ordinal) in self._followers:
                slot = SlotKey(game.tournament, game.ordinal)
                for channel in self._followers.of(slot):
                    with self._alone(channel):
                        channel.stored(slot, game)
        for progress in report.progress:
            for channel in list(self._channels.values()):
                with self._alone(channel):
                    channel.progressed(progress, packed_moves[progress.tournament])

    def _changed(self, tournament: int) -> None:
        for channel in list(self._channels.values()):
            with self._alone(channel):
                channel.changed(tournament)

    async def _tick(self) -> None:
        while True:
            if not self._channels:
                self._opened.clear()
                await self._opened.wait()
            await asyncio.sleep(self.settings.interval)
            self._reading_time.left = self.settings.reading
            for name, channel in sorted(self._channels.items(), key=lambda each: each[1].read_at):
                if self._channels.get(name) is not channel:
                    continue  # it failed while the loop waited for another one
                gone_for = asyncio.get_running_loop().time() - channel.left_at
                if not channel.watchers and gone_for > (0 if channel.over else self.settings.linger):
                    self._drop(name, channel)
                elif not channel.over:
                    with self._alone(channel):
                        await channel.tick()

    @contextmanager
    def _alone(self, channel: Channel) -> Iterator[None]:
        """End only this channel if the block fails; its watchers reconnect to a new one."""
        try:
            yield
        except Exception:
            logger.exception("feed_failed")
            channel.close(Unavailable("this feed has failed"))
            for name, known in list(self._channels.items()):
                if known is channel:
                    self._drop(name, channel)

    def _drop(self, name: str, channel: Channel) -> None:
        del self._channels[name]
        channel.release()
        self._sequence = max(self._sequence, channel.sequence + 1)
