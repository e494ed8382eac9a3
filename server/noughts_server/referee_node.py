"""The composition root of a referee of a cluster, which plays the running tournaments in the database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice

import structlog

from noughts_bots.connection.process import allow_many_files, tune_collector
from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.children.forfeiting_players import ForfeitingPlayers
from noughts_referee.clock import MARGIN_US, RECONNECT_TIMEOUT_SECONDS
from noughts_referee.frame_connection import WireSettings
from noughts_referee.machine_speed import time_factor
from noughts_referee.referee import Referee
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.codecs import OFFERS, REFEREES, WANTS, login_message
from noughts_server.cluster.heartbeats import Membership, node_name
from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.cluster.remote_bots import RemoteBots
from noughts_server.cluster.silence import Limit, Silence, usual_limit
from noughts_server.cluster.supply import SharedPlay
from noughts_server.core.limits import INACTIVITY_TIMEOUT_SECONDS, Limits
from noughts_server.core.trace_settings import TraceSettings
from noughts_server.core.version import software_version
from noughts_server.feed.observer import PLAYED, FeedObserver, GameEvent, ScheduledGameKey
from noughts_server.hosting.offers import Offer, Offers, register
from noughts_server.hosting.submitted import Acceptance, Host, submitted_bots
from noughts_server.launching.launcher import SandboxMode, launching
from noughts_server.monitoring.counters import Counters
from noughts_server.monitoring.event_log import logging_events
from noughts_server.monitoring.tracing import tracing
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.director import Director, guest_displacer
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.inactivity import InactivityCheck
from noughts_server.runtime.machine import host_name, known_speed
from noughts_server.runtime.open_files import OpenFiles
from noughts_server.runtime.proofs import Proofs
from noughts_server.runtime.recorder import commit_interval, recording
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.store_guard import StoreGuard
from noughts_server.server import bare_errors
from noughts_server.store.engine.database import Store
from noughts_server.store.games.results import CommitReport
from noughts_server.store.nodes import BEAT_SECONDS, Node, NodeKind

logger = structlog.get_logger("noughts.referee")
_MOST_REPORTED = 32
"""Limit of the running games of a tournament that are reported to servers."""
_OFFERS_SECONDS = 5.0
"""The longest time between two messages with the installed bots to the other referees, if nothing changes."""


class Subscriptions:
    """Lets the observer observe the slots whose events a server wants for its watchers."""

    def __init__(self, observer: FeedObserver, bus: Bus, limit: Limit = usual_limit) -> None:
        self._observer = observer
        self._bus = bus
        self._slots: dict[str, set[ScheduledGameKey]] = {}
        """The slots that each server wants, by its name."""
        self._silence = Silence(limit)

    async def run(self) -> None:
        """Read the messages of servers until cancelled."""
        with listening(self._bus, WANTS, self._read):
            await self._silence.watch(self._forget_server)

    def _forget_server(self, server: str) -> None:
        for slot in self._slots.pop(server, ()):
            self._observer.stop_observing(slot)

    def _read(self, message: pb.FeedWants) -> None:
        self._silence.record_message(message.server)
        slots = list(map(ScheduledGameKey, message.tournament, message.ordinal))
        slots_before = self._slots.get(message.server, set())
        slots_now = set(slots)
        self._slots[message.server] = slots_now
        for slot in slots_now - slots_before:
            self._observer.observe(slot)
        for slot in slots_before - slots_now:
            self._observer.stop_observing(slot)
        for row in message.unknown:
            game = self._observer.snapshot(slots[row])
            if game is not None:
                self._bus.publish(PLAYED, GameEvent(slots[row], game))


@dataclass(frozen=True, slots=True)
class RefereeSettings:
    """The operator's settings of a referee of a cluster. Times in seconds."""

    database: str
    """An SQLAlchemy URL."""
    bus: BusSettings
    seats: int = 1
    """Limit of the concurrent games of bots on this machine."""
    offers: tuple[Offer, ...] = ()
    """The bots that are installed here."""
    owner: str = "referees"
    """The owner of the installed bots."""
    acceptance: Acceptance | None = None
    """The kinds of submitted bots that the referee runs; None: it runs none."""
    limits: Limits = field(default_factory=Limits)
    """The limits of submitted bots."""
    sandbox_mode: SandboxMode = SandboxMode.USUAL
    speed: float | None = None
    """The speed of this machine, for games whose times are scaled (`machine_speed`); None: measure it at the start."""
    margin_us: int = MARGIN_US
    reconnect_timeout: float = RECONNECT_TIMEOUT_SECONDS
    """Reconnect timeout of a bot whose server has left."""
    inactivity_timeout: float = INACTIVITY_TIMEOUT_SECONDS
    """Inactivity timeout: an entry that keeps its games waiting for this long is withdrawn; 0: never."""
    metrics: str | None = None
    """HOST:PORT for Prometheus; None: off."""
    trace: TraceSettings | None = None
    """Where traces of slow moves are sent; None: nowhere."""


@dataclass(frozen=True, slots=True)
class RefereeNode:
    """A running referee, for the code that runs it in this process."""

    name: str
    settings: RefereeSettings
    referee: Referee
    play: SharedPlay
    membership: Membership
    bus: NatsBus
    store: Store
    metrics_address: str | None
    """HOST:PORT of the metrics for Prometheus; None if they are off."""

    async def drain(self) -> None:
        """Begin no new games; return when the running games are stored."""
        await self.play.local.drain()


@asynccontextmanager
async def running_referee(settings: RefereeSettings) -> AsyncIterator[RefereeNode]:
    """Run a referee that plays inside the block.

    Raises the errors that prevent the referee from starting or continuing, and the errors of the block. None of them is
    wrapped in an exception group.
    """
    tune_collector()
    allow_many_files()
    name = node_name(NodeKind.REFEREE)
    async with AsyncExitStack() as stack:
        stack.enter_context(bare_errors())
        store = await Store.open(settings.database)
        stack.push_async_callback(store.close)
        bus = NatsBus(settings.bus, name)
        await stack.enter_async_context(bus.running())
        recorder = await stack.enter_async_context(recording(store, bus, referee=name, machine=host_name()))
        speed = await known_speed(settings.speed)
        referee = Referee(
            recorder.record,
            margin_us=settings.margin_us,
            journal=recorder.journal,
            comment_limits=settings.limits.comments,
            time_factor=time_factor(speed),
        )
        recorder.on_settled = referee.announce_stored
        accepts = ",".join(settings.acceptance.kinds) if settings.acceptance else ""
        node = Node(name, NodeKind.REFEREE, settings.seats, accepts, version=software_version(), speed=speed)
        membership = Membership(store, bus, node)

        def adjust_commits() -> None:
            recorder.interval_seconds = commit_interval(len(membership.referees))

        membership.on_change.append(adjust_commits)
        bots = RemoteBots(referee, bus, membership, settings.reconnect_timeout)
        play = SharedPlay(store=store, referee=referee, recorder=recorder, bus=bus, membership=membership, bots=bots)
        director = Director(store, play.local)
        referee.on_displaced = guest_displacer(director, play.local)
        bus.on_connected.append(bots.resynchronise)
        registered = await register(store, settings.owner, settings.offers) if settings.offers else []
        subscriptions = Subscriptions(FeedObserver(referee, bus), bus, membership.silence_limit)
        refused: dict[int, str] = {}
        inactivity_check = InactivityCheck(
            store=store,
            referee=referee,
            director=director,
            playing=play.local.playing,
            seconds=settings.inactivity_timeout,
            refused=refused,
        )
        guard = StoreGuard(store, referee)
        sessions = Sessions(referee, bus, WireSettings())
        presence = _Presence(name, bus, referee, play, sessions)
        membership.on_change.append(presence.offer_soon)
        bus.on_connected.append(presence.offer_soon)
        stack.enter_context(logging_events(bus, play.local.conditions, sessions))
        await stack.enter_async_context(membership.belonging())
        installed: set[int] = set()
        play.installed = installed
        if registered:
            launcher = await stack.enter_async_context(launching(settings.sandbox_mode, logger.warning))
            offers = Offers(
                forfeiting_players=ForfeitingPlayers(referee),
                sessions=sessions,
                launcher=launcher,
                seats=settings.seats,
                installed=installed,
                on_ready=play.check_now,
            )
            plays = [offers.play(offer, bot) for offer, bot in zip(settings.offers, registered, strict=True)]
            await stack.enter_async_context(running(*plays))
        if settings.acceptance is not None:
            bots_of_host = await stack.enter_async_context(submitted_bots(settings.acceptance))
            host = Host(
                store=store,
                bus=bus,
                referee=referee,
                sessions=sessions,
                limits=settings.limits,
                installed=installed,
                refused=refused,
                on_ready=play.check_now,
            )
            await stack.enter_async_context(running(bots_of_host(host).run()))
        play.local.queue.seats = settings.seats
        await stack.enter_async_context(
            running(
                bots.run(),
                subscriptions.run(),
                guard.run(),
                inactivity_check.run(),
                OpenFiles().watch(),
                Proofs(referee).run(),
            )
        )
        # This also watches for stalls of the event loop.
        counters = Counters(referee)
        membership.on_beat = lambda beat, seconds: counters.count_heartbeat(beat.silent_ms / 1000)
        tracer = await stack.enter_async_context(tracing(settings.trace, name))

        def count_commit(report: CommitReport) -> None:
            counters.count_commit(report)
            if tracer is not None:
                tracer.note_commit(report)

        recorder.on_commit = count_commit
        referee.tracer = tracer
        await stack.enter_async_context(counters.measuring())
        metrics_address = None
        if settings.metrics is not None:
            from noughts_server.monitoring.prometheus import HeartbeatMetrics, PlayMetrics, serving_metrics

            metrics = PlayMetrics(store=store, referee=referee, recorder=recorder, sessions=sessions, counters=counters)
            metrics_address = await stack.enter_async_context(
                serving_metrics(
                    [metrics, HeartbeatMetrics(counters)], settings.metrics, lambda: store.problem() or bus.problem()
                )
            )
        await stack.enter_async_context(play.local.supplying(resumes_play=False))
        await stack.enter_async_context(director.directing(resumes_play=False))
        await stack.enter_async_context(running(play.follow(), presence.run()))
        logger.info(
            "referee_ready",
            referee=name,
            bus=bus.settings.place,
            database=store.url,
            seats=settings.seats,
            metrics=metrics_address or "off",
        )
        yield RefereeNode(
            name=name,
            settings=settings,
            referee=referee,
            play=play,
            membership=membership,
            bus=bus,
            store=store,
            metrics_address=metrics_address,
        )
        referee.stop_starting()


class _Presence:
    """Publishes the games and the installed bots of this referee."""

    def __init__(self, name: str, bus: NatsBus, referee: Referee, play: SharedPlay, sessions: Sessions) -> None:
        self._name = name
        self._bus = bus
        self._referee = referee
        self._play = play
        self._sessions = sessions
        self._offers_due = 0.0
        """When the other referees get the installed bots again, by the event loop's clock."""
        self._offers: list[pb.BotPresence] | None = None
        """The installed bots as of the last message to the other referees; None if there was none."""

    async def run(self) -> None:
        """Publish all at each heartbeat, until cancelled. The other referees get the installed bots less often.

        A hundred referees would receive ten thousand messages a second.
        """
        loop = asyncio.get_running_loop()
        try:
            while True:
                message = self._message()
                self._bus.publish(REFEREES, message)
                offers = list(message.offers)
                if (offers or self._offers is not None) and (offers != self._offers or loop.time() >= self._offers_due):
                    self._offers, self._offers_due = offers, loop.time() + _OFFERS_SECONDS
                    self._bus.publish(OFFERS, pb.RefereePresence(referee=self._name, offers=offers))
                await asyncio.sleep(BEAT_SECONDS)
        finally:
            for subject in (REFEREES, OFFERS):
                self._bus.publish(subject, pb.RefereePresence(referee=self._name, leaving=True))

    def offer_soon(self) -> None:
        """Publish the installed bots with the next heartbeat: another node has joined, or messages were lost."""
        self._offers_due = 0.0

    def _message(self) -> pb.RefereePresence:
        referee = self._referee
        message = pb.RefereePresence(
            referee=self._name,
            plies=referee.plies,
            games_in_flight=referee.count_running(),
            slots_queued=referee.count_queued(),
        )
        for conditions in self._play.local.playing():
            key = conditions.tournament
            running = islice(referee.running(key), _MOST_REPORTED)
            ordinals = [game.slot.ordinal for game in running]
            message.tournaments.add(tournament=key, games_in_flight=referee.count_running(key), ordinals=ordinals)
        for version, login in self._sessions.logins_here().items():
            if version in self._play.installed:
                offer = login_message(version, login)
                offer.online = True
                message.offers.append(offer)
        return message
