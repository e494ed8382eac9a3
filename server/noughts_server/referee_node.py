"""The composition root of a referee: it plays what is running in a cluster's database, and answers nobody's calls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice

import structlog

from noughts_bots.process import allow_many_files, tune_collector
from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.clock import GRACE_SECONDS, MARGIN_US
from noughts_referee.frame_connection import WireSettings
from noughts_referee.referee import Referee
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.codecs import REFEREES
from noughts_server.cluster.control import running
from noughts_server.cluster.membership import Membership, node_name
from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.cluster.remote_bots import RemoteBots
from noughts_server.cluster.subscriptions import Subscriptions
from noughts_server.cluster.supply import FollowingDirector
from noughts_server.feed.observer import FeedObserver
from noughts_server.hosting.offers import Offer, Offers, register
from noughts_server.launching.launcher import Locking, launching
from noughts_server.limits import ABSENCE_SECONDS
from noughts_server.monitoring.event_log import EventLog
from noughts_server.runtime.absences import Absences
from noughts_server.runtime.recorder import COMMITTED, DAMAGED, Recorder
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.store_guard import StoreGuard
from noughts_server.server import first_of
from noughts_server.store.engine.database import Store
from noughts_server.store.nodes import Node, NodeKind

logger = structlog.get_logger("noughts.referee")

_PERIOD_SECONDS = 1.0
# So many running games of a tournament are told of, for those who want to watch one.
_MOST_TOLD = 32


@dataclass(frozen=True, slots=True)
class RefereeSettings:
    """What an operator chooses for a referee. Times in seconds."""

    database: str
    """An SQLAlchemy URL."""
    bus: BusSettings
    seats: int = 1
    """Games of bots on this machine that are played at once."""
    offers: tuple[Offer, ...] = ()
    """Bots that are installed here."""
    owner: str = "referees"
    """Whose bots those are."""
    locking: Locking = Locking.USUAL
    margin_us: int = MARGIN_US
    grace: float = GRACE_SECONDS
    """How long a bot may stay away whose server is gone."""
    absence: float = ABSENCE_SECONDS
    """How long an entry may keep its games waiting; 0: for ever."""
    drain_timeout: float = 3600.0
    """How long `drain` waits for running games before it abandons them."""
    store_patience: float = 10.0


@dataclass(frozen=True, slots=True)
class RefereeNode:
    """A running referee, for whoever runs it in this process."""

    name: str
    settings: RefereeSettings
    referee: Referee
    director: FollowingDirector
    membership: Membership
    bus: NatsBus
    store: Store
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    async def drain(self) -> None:
        """Stops politely: no new games; those running are finished and stored."""
        try:
            await asyncio.wait_for(self.director.drain(), self.settings.drain_timeout)
        except TimeoutError:
            logger.warning("drain timed out", seconds=self.settings.drain_timeout)
            self.director.abandon()


@asynccontextmanager
async def running_referee(settings: RefereeSettings) -> AsyncIterator[RefereeNode]:
    """A referee that plays inside the block.

    Raises what makes it unable to start or to go on, and what the block raises, bare.
    """
    try:
        async with _running_referee(settings) as node:
            yield node
    except BaseExceptionGroup as group:
        raise first_of(group) from group


@asynccontextmanager
async def _running_referee(settings: RefereeSettings) -> AsyncIterator[RefereeNode]:
    tune_collector()
    allow_many_files()
    name = node_name(NodeKind.REFEREE)
    async with AsyncExitStack() as stack:
        store = await Store.open(settings.database)
        stack.push_async_callback(store.close)
        bus = NatsBus(settings.bus, name)
        await stack.enter_async_context(bus.running())
        recorder = Recorder(
            store,
            lambda report: bus.publish(COMMITTED, report),
            on_damage=lambda tournament, error: bus.publish(DAMAGED, (tournament, error)),
        )
        recording = await stack.enter_async_context(asyncio.TaskGroup())
        recording.create_task(recorder.run(), name="recorder")
        stack.push_async_callback(recorder.close)
        stack.callback(store.lose_patience, settings.store_patience)
        referee = Referee(recorder.record, margin_us=settings.margin_us, journal=recorder.journal)
        membership = Membership(store, bus, Node(name, NodeKind.REFEREE, settings.seats))
        bots = RemoteBots(referee, bus, membership, settings.grace)
        director = FollowingDirector(store, referee, recorder, bus, membership, bots)
        bus.on_connected.append(bots.begin_anew)
        registered = await register(store, settings.owner, settings.offers) if settings.offers else []
        wants = Subscriptions(FeedObserver(referee, bus), bus)
        absences = Absences(store, referee, director, settings.absence)
        guard = StoreGuard(store, referee, _nobody_asks)
        stack.enter_context(EventLog(bus, director, Sessions(referee, bus, WireSettings())).writing())
        await stack.enter_async_context(membership.belonging())
        offers: Offers | None = None
        if registered:
            launcher = await stack.enter_async_context(launching(settings.locking, logger.warning))
            offers = Offers(referee, launcher, settings.seats, director.look)
            director.installed = offers.bots
            plays = [offers.play(offer, bot) for offer, bot in zip(settings.offers, registered, strict=True)]
            await stack.enter_async_context(running(*plays))
        director.seats = settings.seats
        await stack.enter_async_context(running(bots.run(), wants.run(), guard.run(), absences.run()))
        await stack.enter_async_context(director.directing(goes_on=False))
        telling = _Telling(name, bus, referee, director, offers)
        await stack.enter_async_context(running(director.follow(), telling.run()))
        logger.info("plays", referee=name, bus=bus.settings.place, database=store.url, seats=settings.seats)
        yield RefereeNode(name, settings, referee, director, membership, bus, store)
        referee.stop_starting()


async def _nobody_asks(serves: bool) -> None:
    """A referee takes no calls."""


class _Telling:
    """Says once a second what this referee plays."""

    def __init__(
        self, name: str, bus: NatsBus, referee: Referee, director: FollowingDirector, offers: Offers | None
    ) -> None:
        self._name = name
        self._bus = bus
        self._referee = referee
        self._director = director
        self._offers = offers

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                self._bus.publish(REFEREES, self._message())
                await asyncio.sleep(_PERIOD_SECONDS)
        finally:
            self._bus.publish(REFEREES, pb.RefereePresence(referee=self._name, leaving=True))

    def _message(self) -> pb.RefereePresence:
        referee = self._referee
        message = pb.RefereePresence(
            referee=self._name,
            plies=referee.plies,
            games_in_flight=referee.in_flight(),
            slots_queued=referee.queued(),
            offers=self._offers.presence() if self._offers else (),
        )
        for conditions in self._director.playing():
            key = conditions.tournament
            running = islice(referee.running(key), _MOST_TOLD)
            message.tournaments.add(
                tournament=key, games_in_flight=referee.in_flight(key), ordinals=[game.slot.ordinal for game in running]
            )
        return message
