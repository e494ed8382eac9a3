"""A server of a cluster: it decides which tournaments are played, and the referees play them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from noughts_referee.comments import CommentLimits
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.heartbeats import Membership, node_name
from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.cluster.presence import Presence
from noughts_server.cluster.remote_observer import RemoteObserver
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.cluster.standstill import Standstill
from noughts_server.core.version import software_version
from noughts_server.runtime.bus import Bus
from noughts_server.runtime.director import Director
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.tournament_play import ABANDONED, CHANGED, CONCEDED
from noughts_server.store.engine.database import Store
from noughts_server.store.nodes import Node, NodeKind
from noughts_server.store.tournaments.tournaments import Tournament

_SCHEDULE_SECONDS = 1.0
"""Longest time between two checks of the schedule, which other servers can change."""
_CONCEDING_SECONDS = 1.0
"""Seconds in which referees receive the message that the organiser's bots lose, and store these games."""


class RemotePlay:
    """Notifies the referees of a cluster of each decision; they read the details from the store."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus

    async def wait_until_settled(self, resumed: Tournament | None = None) -> None:
        """See `TournamentPlay`. The referees finish and store the games from before a pause."""
        self._store.check_available()

    def apply_change(self, tournament: Tournament) -> None:
        """See `TournamentPlay`."""
        self._bus.publish(CHANGED, tournament.id)

    def abandon_games(self, tournament: Tournament) -> None:
        """See `TournamentPlay`."""
        self._bus.publish(ABANDONED, tournament.id)

    async def concede_games(self, tournament: Tournament) -> None:
        """See `TournamentPlay`. Return after a fixed time, because the referees do not answer the message."""
        self._bus.publish(CONCEDED, tournament.id)
        await asyncio.sleep(_CONCEDING_SECONDS)

    def withdraw_entries(self, tournament: Tournament, entries: Mapping[int, str]) -> None:
        """See `TournamentPlay`."""
        self._bus.publish(CHANGED, tournament.id)


@dataclass(frozen=True, slots=True)
class Control:
    """A server's part in a cluster. `cluster_member` creates it."""

    store: Store
    bus: NatsBus
    membership: Membership
    referee: RemoteReferee
    observer: RemoteObserver

    def leads(self) -> bool:
        """Whether this server does the work that only one server of a cluster must do."""
        return self.membership.first

    def director(self) -> Director:
        """Return the server's director. The oldest server of the cluster starts scheduled tournaments."""
        return Director(self.store, RemotePlay(self.store, self.bus), leads=self.leads, check_seconds=_SCHEDULE_SECONDS)

    @asynccontextmanager
    async def taking_part(self, sessions: Sessions) -> AsyncIterator[None]:
        """Let the referees use the bots of these sessions while the block runs."""
        member = self.membership
        presence = Presence(sessions, self.referee, self.bus, member.node.name, member.silence_limit)
        self.bus.on_connected += [presence.publish_all, self.referee.resynchronise, self.observer.resynchronise]
        standstill = Standstill(self.store, self.bus, member, self.referee)
        async with running(self.referee.run(sessions.wire), presence.run(), self.observer.run(), standstill.run()):
            yield


@asynccontextmanager
async def cluster_member(
    store: Store, settings: BusSettings, *, margin_us: int, comment_limits: CommentLimits
) -> AsyncIterator[Control]:
    """Make this server a member of the cluster inside the block. Raise BadBusUrl, BusUnusable."""
    name = node_name(NodeKind.SERVER)
    bus = NatsBus(settings, name)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(bus.running())
        membership = Membership(store, bus, Node(name, NodeKind.SERVER, 0, version=software_version()))
        await stack.enter_async_context(membership.belonging())
        referee = RemoteReferee(
            store, bus, name, margin_us=margin_us, limit=membership.silence_limit, comment_limits=comment_limits
        )
        yield Control(store, bus, membership, referee, RemoteObserver(referee, bus, name))
