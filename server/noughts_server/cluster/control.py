"""What a server of a cluster does in the place of playing: it decides, and referees elsewhere play."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.membership import Membership, node_name
from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.cluster.presence import Presence
from noughts_server.cluster.remote_observer import FilteredBus, RemoteObserver
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.runtime.bus import Bus
from noughts_server.runtime.director import Director
from noughts_server.runtime.recorder import Recorder
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store
from noughts_server.store.nodes import Node, NodeKind
from noughts_server.store.tournaments.tournaments import Tournament, start_tournament

_LOOK_MS = 1_000


class ControllingDirector(Director):
    """Writes what is decided, and has the referees know. Of several servers the oldest starts what is scheduled."""

    def __init__(
        self,
        store: Store,
        desk: RemoteReferee,
        recorder: Recorder,
        bus: Bus,
        membership: Membership,
        *,
        store_patience: float,
    ) -> None:
        super().__init__(store, desk, recorder, bus, store_patience=store_patience)
        self._membership = membership

    async def drain(self) -> None:
        """Nothing is played here: the bots of this server log in at another."""

    def abandon(self) -> None:
        """Nothing is played here."""

    async def _start(self, slug: str, owner_id: int | None) -> None:
        now = self._store.now_ms()
        tournament = await self._store.write(
            lambda connection: start_tournament(connection, slug, now_ms=now, owner_id=owner_id)
        )
        self.play_on(tournament)

    def _play(self, tournament: Tournament) -> None:
        """The referees hear of it by what the callers publish, or look by themselves."""

    async def _start_due(self) -> int | None:
        if not self._membership.first:
            return self._store.now_ms() + _LOOK_MS
        moment = await super()._start_due()
        return moment and min(moment, self._store.now_ms() + _LOOK_MS)


@dataclass(frozen=True, slots=True)
class Control:
    """A server's part in a cluster. Made by `joined`."""

    store: Store
    bus: NatsBus
    membership: Membership
    desk: RemoteReferee
    observer: RemoteObserver

    def leads(self) -> bool:
        """Whether this server does what only one may do."""
        return self.membership.first

    def director(self, recorder: Recorder, *, store_patience: float) -> Director:
        """The server's director."""
        return ControllingDirector(
            self.store, self.desk, recorder, self.bus, self.membership, store_patience=store_patience
        )

    @property
    def feed_bus(self) -> Bus:
        """The bus for the feed."""
        return FilteredBus(self.bus, self.observer)

    @asynccontextmanager
    async def taking_part(self, sessions: Sessions) -> AsyncIterator[None]:
        """Has the bots of these sessions play inside the block."""
        presence = Presence(sessions, self.desk, self.bus, self.membership.node.name)
        self.bus.on_connected += [presence.begin_anew, self.desk.begin_anew, self.observer.begin_anew]
        async with running(self.desk.run(), presence.run(), self.observer.run()):
            yield


@asynccontextmanager
async def joined(store: Store, settings: BusSettings, *, margin_us: int) -> AsyncIterator[Control]:
    """This server is one of a cluster inside the block. Raises BadBusUrl, BusUnusable."""
    name = node_name(NodeKind.SERVER)
    bus = NatsBus(settings, name)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(bus.running())
        membership = Membership(store, bus, Node(name, NodeKind.SERVER, 0))
        await stack.enter_async_context(membership.belonging())
        desk = RemoteReferee(store, bus, name, margin_us=margin_us)
        yield Control(store, bus, membership, desk, RemoteObserver(desk, bus, name))


@asynccontextmanager
async def running(*endless: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs work that never ends by itself inside the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in endless]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
