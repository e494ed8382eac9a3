"""The feed of a server: it has a channel for each watched game and tournament, and passes events to the channels."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

import structlog

from noughts_server.core.errors import Draining, InvalidArgument, Unavailable
from noughts_server.core.resource_names import game_id, tournament_id
from noughts_server.feed.channel import (
    Channel,
    ChannelContext,
    FeedCounts,
    FeedSettings,
    GameFollowers,
    ReadingTime,
    Watcher,
)
from noughts_server.feed.game_channel import GameChannel
from noughts_server.feed.observer import GameEvent, ScheduledGameKey, WatchableGames
from noughts_server.feed.tournament_channel import TournamentsChannel
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.tournament_play import CHANGED
from noughts_server.store.engine.database import Store
from noughts_server.store.games.results import CommitReport

logger = structlog.get_logger("noughts.feed")

FEATURED = "featured"
"""The name of the channel of the running tournaments, which the website features."""


class _ChannelKey(NamedTuple):
    """What a channel sends."""

    name: str
    """The watched resource."""
    boards: int
    """The limit of games that it shows move by move."""


class Feed:
    """The feed admits watchers and drives the channels."""

    def __init__(self, store: Store, observer: WatchableGames, bus: Bus, settings: FeedSettings) -> None:
        self.settings = settings
        self.counts = FeedCounts()
        self.epoch = secrets.randbits(64) or 1
        """Identifies this server's numbers of messages. Numbers of another epoch are not valid here."""
        self._store = store
        self._bus = bus
        self._observer = observer
        self._followers = GameFollowers(self._observer)
        self._channels: dict[_ChannelKey, Channel] = {}
        self._reading_time = ReadingTime()
        self._opening = asyncio.Lock()
        self._channel_opened = asyncio.Event()
        self._sequence = 0
        """The first number of a new channel, larger than all numbers of earlier ones."""
        self._closing = False

    @asynccontextmanager
    async def feeding(self) -> AsyncIterator[None]:
        """Serve watchers while the block runs."""
        with (
            self._observer.listening(self._handle_event),
            listening(self._bus, COMMITTED, self._handle_commit),
            listening(self._bus, CHANGED, self._handle_change),
        ):
            async with running(self._tick()):
                try:
                    yield
                finally:
                    self.close()

    @asynccontextmanager
    async def watching(
        self, name: str, from_sequence: int = 0, epoch: int = 0, *, boards: int = 0
    ) -> AsyncIterator[Watcher]:
        """Watch `tournaments/ID`, `tournaments/ID/games/N` or `featured` inside the block.

        `from_sequence` and `epoch` are those of the last message that an earlier watcher received. `boards` is the
        number of games that are shown move by move: 4 or 9; 0 means 4. Raises InvalidArgument, NotFound, Draining.
        """
        settings = self.settings
        if boards not in (0, settings.boards, settings.most_boards):
            raise InvalidArgument.of("boards", boards, f"{settings.boards} or {settings.most_boards}")
        key = _ChannelKey(name, boards or settings.boards)
        if self._closing:
            raise Draining()
        self.counts.watchers += 1
        try:
            channel = await self._channel(key)
            watcher = channel.join(from_sequence, epoch)
            try:
                yield watcher
            finally:
                channel.watchers.discard(watcher)
                channel.left_at = asyncio.get_running_loop().time()
        finally:
            self.counts.watchers -= 1

    def close(self) -> None:
        """End every stream after its remaining messages. Further calls do nothing."""
        self._closing = True
        for channel in self._channels.values():
            channel.close(Draining())

    async def _channel(self, key: "_ChannelKey") -> Channel:
        channel = self._channels.get(key)
        if channel is None:
            async with self._opening:
                channel = self._channels.get(key) or await self._open(key)
        return channel

    async def _open(self, key: "_ChannelKey") -> Channel:
        channel = self._new_channel(key)
        try:
            await channel.load()
        except BaseException:
            channel.release()
            raise
        channel.left_at = asyncio.get_running_loop().time()
        if self._closing:
            channel.close(Draining())
        self._channels[key] = channel
        self._channel_opened.set()
        return channel

    def _new_channel(self, key: "_ChannelKey") -> Channel:
        name = key.name
        context = ChannelContext(self.settings, self.counts, self._reading_time, self.epoch, self._sequence)
        if "/games/" in name:
            slug, ordinal = game_id("name", name)
            return GameChannel(slug, ordinal, self._store, self._followers, context)
        tournament = None if name == FEATURED else tournament_id("name", name)
        return TournamentsChannel(
            tournament, self._store, self._followers, self._observer, context, most_boards=key.boards
        )

    # Handlers of events. Their callers play games, commit or answer calls, so errors of the feed must not reach them.

    def _handle_event(self, event: GameEvent) -> None:
        for channel in self._followers.of(event.slot):
            with self._isolating(channel):
                channel.handle_event(event.slot, event.event)

    def _handle_commit(self, report: CommitReport) -> None:
        if not self._channels and not self._followers:
            return
        packed_moves: Counter[int] = Counter()
        for game in report.games:
            packed_moves[game.tournament] += len(game.moves)
            if (game.tournament, game.ordinal) in self._followers:
                slot = ScheduledGameKey(game.tournament, game.ordinal)
                for channel in self._followers.of(slot):
                    with self._isolating(channel):
                        channel.handle_stored_game(slot, game)
        for progress in report.progress:
            for channel in list(self._channels.values()):
                with self._isolating(channel):
                    channel.handle_progress(progress, packed_moves[progress.tournament])

    def _handle_change(self, tournament: int) -> None:
        for channel in list(self._channels.values()):
            with self._isolating(channel):
                channel.handle_change(tournament)

    async def _tick(self) -> None:
        while True:
            if not self._channels:
                self._channel_opened.clear()
                await self._channel_opened.wait()
            await asyncio.sleep(self.settings.interval)
            self._reading_time.left = self.settings.reading
            for key, channel in sorted(self._channels.items(), key=lambda item: item[1].read_at):
                if self._channels.get(key) is not channel:
                    continue  # this channel failed while the loop waited for another one
                unwatched_seconds = asyncio.get_running_loop().time() - channel.left_at
                linger_seconds = 0 if channel.is_over else self.settings.linger
                if not channel.watchers and unwatched_seconds > linger_seconds:
                    self._drop(key, channel)
                elif not channel.is_over:
                    with self._isolating(channel):
                        await channel.tick()

    @contextmanager
    def _isolating(self, channel: Channel) -> Iterator[None]:
        """If the block fails, close this channel only. Its watchers reconnect and get a new one."""
        try:
            yield
        except Exception:
            logger.exception("feed_failed")
            channel.close(Unavailable("this feed has failed"))
            for key, open_channel in list(self._channels.items()):
                if open_channel is channel:
                    self._drop(key, channel)

    def _drop(self, key: "_ChannelKey", channel: Channel) -> None:
        del self._channels[key]
        channel.release()
        self._sequence = max(self._sequence, channel.sequence + 1)
