"""The composition root of a server: it creates the parts and connects them."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc.aio
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from noughts_bots.connection.process import allow_many_files, tune_collector
from noughts_proto.v1 import (
    bots_pb2_grpc,
    challenges_pb2_grpc,
    games_pb2_grpc,
    leaderboards_pb2_grpc,
    play_pb2_grpc,
    registration_pb2_grpc,
    status_pb2_grpc,
    tests_pb2_grpc,
    tokens_pb2_grpc,
    tournaments_pb2_grpc,
    tunings_pb2_grpc,
    webhooks_pb2_grpc,
)
from noughts_referee.frame_connection import WireSettings
from noughts_referee.machine_speed import time_factor
from noughts_referee.referee import Referee
from noughts_server.feed.feed import Feed
from noughts_server.feed.observer import FeedObserver
from noughts_server.monitoring.counters import Counters
from noughts_server.monitoring.event_log import logging_events
from noughts_server.monitoring.tracing import tracing
from noughts_server.runtime.analyses import Analyses
from noughts_server.runtime.bus import Bus, MemoryBus, listening
from noughts_server.runtime.challenge_expiry import expiring_challenges
from noughts_server.runtime.director import Director, guest_displacer
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.explorer import exploring
from noughts_server.runtime.hosting import Hosting
from noughts_server.runtime.inactivity import InactivityCheck
from noughts_server.runtime.ladders import pairing_online_bots
from noughts_server.runtime.leftovers import deleting_leftovers
from noughts_server.runtime.machine import known_speed
from noughts_server.runtime.open_files import OpenFiles
from noughts_server.runtime.proofs import Proofs
from noughts_server.runtime.puzzles import finding_puzzles
from noughts_server.runtime.recorder import COMMITTED, Recorder, recording
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.store_guard import StoreGuard
from noughts_server.runtime.supply import AllUnits
from noughts_server.runtime.token_expiry import closing_ended_sessions
from noughts_server.runtime.tournament_play import LocalPlay
from noughts_server.runtime.webhooks import WebhookDelivery
from noughts_server.services.admission import Admission
from noughts_server.services.bots import BotServicer
from noughts_server.services.challenges import ChallengeServicer
from noughts_server.services.connections import Connections
from noughts_server.services.delivery import Delivery
from noughts_server.services.endpoint import SERVICES, bound_server, serving_calls
from noughts_server.services.feed import FeedServicer, add_feed_service
from noughts_server.services.first_entries import FirstEntries
from noughts_server.services.games import GameServicer
from noughts_server.services.interceptor import CallInterceptor
from noughts_server.services.leaderboard_views import LeaderboardViews
from noughts_server.services.leaderboards import LeaderboardServicer
from noughts_server.services.limiter import Limiter
from noughts_server.services.play import PlayServicer
from noughts_server.services.registration import RegistrationServicer
from noughts_server.services.seeks import Seeks
from noughts_server.services.status import StatusServicer
from noughts_server.services.tests import TestServicer
from noughts_server.services.tokens import TokenServicer
from noughts_server.services.tournaments import TournamentServicer
from noughts_server.services.tunings import TuningServicer
from noughts_server.services.webhooks import WebhookServicer
from noughts_server.services.websites import Websites
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.database import Store, default_database_url
from noughts_server.store.engine.schema import REVISION

if TYPE_CHECKING:
    from noughts_proto.v1.cluster_pb2 import RefereePresence
    from noughts_server.cluster.control import Control
    from noughts_server.cluster.remote_referee import RemoteReferee

logger = structlog.get_logger("noughts.server")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, for the code that runs it in this process. `running_server` creates it."""

    address: str
    """HOST:PORT at which it listens."""
    metrics_address: str | None
    """HOST:PORT of the metrics for Prometheus; None if they are off."""
    settings: ServerSettings
    store: Store
    bus: Bus
    referee: "Referee | RemoteReferee"
    recorder: Recorder
    sessions: Sessions
    play: LocalPlay[AllUnits] | None
    """None in a cluster, whose referees play."""
    director: Director
    feed: Feed
    counters: Counters
    leads: Callable[[], bool]
    """Returns whether this server does the work that only one server of a cluster does."""
    health: health.aio.HealthServicer
    analyses: Analyses | None
    """None if the server analyses no games."""
    speed: float
    """The speed of this machine; 0 in a cluster, whose referees play."""
    presences: "Mapping[str, RefereePresence] | None"
    """The last presence of each referee of the cluster, by name; None without a cluster."""

    def abandon(self) -> None:
        """End all running games as void. Their slots are played after the next start of the server."""
        if self.play is not None:
            self.play.abandon()

    async def drain(self) -> None:
        """Report NOT_SERVING and begin no new games; return when the running games are stored. Idempotent."""
        self.counters.draining = True
        await self.health.enter_graceful_shutdown()
        if self.play is not None:
            await self.play.drain()


@contextmanager
def bare_errors() -> Iterator[None]:
    """Raise the first error in an exception group by itself, without the group."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group


@asynccontextmanager
async def running_server(
    settings: ServerSettings, host: Callable[[Server], Hosting] | None = None
) -> AsyncIterator[Server]:
    """Run a server that accepts calls inside the block. `host` creates the part that tests and plays submitted bots.

    Raises the errors that prevent the server from starting or continuing, and the errors of the block. None of them is
    wrapped in an exception group, although the server's tasks run in task groups.
    """
    tune_collector()
    allow_many_files()
    async with AsyncExitStack() as stack:
        stack.enter_context(bare_errors())
        store = await Store.open(settings.database or default_database_url(), alone=settings.bus is None)
        stack.push_async_callback(store.close)
        control: Control | None = None
        if settings.bus is not None:
            from noughts_server.cluster.control import cluster_member

            control = await stack.enter_async_context(
                cluster_member(
                    store, settings.bus, margin_us=settings.margin_us, comment_limits=settings.limits.comments
                )
            )
        bus: Bus = MemoryBus() if control is None else control.bus
        recorder = await stack.enter_async_context(
            recording(store, bus, settings.store_wait_seconds, machine=settings.machine)
        )
        wires = WireSettings(settings.heartbeat, settings.reconnect_timeout, network_cap_us=settings.network_cap_us)
        referee: Referee | RemoteReferee
        local_referee: Referee | None = None
        speed = 0.0
        play: LocalPlay[AllUnits] | None = None
        if control is None:
            speed = await known_speed(settings.speed)
            referee = local_referee = Referee(
                recorder.record,
                margin_us=settings.margin_us,
                journal=recorder.journal,
                comment_limits=settings.limits.comments,
                time_factor=time_factor(speed),
            )
            recorder.on_settled = local_referee.announce_stored
            tracer = await stack.enter_async_context(tracing(settings.trace, settings.listen))
            if tracer is not None:
                local_referee.tracer, recorder.on_commit = tracer, tracer.note_commit
            play = LocalPlay(
                store, local_referee, recorder, bus, AllUnits, store_wait_seconds=settings.store_wait_seconds
            )
            director = Director(store, play)
            local_referee.on_displaced = guest_displacer(director, play)
            feed = Feed(store, FeedObserver(local_referee, bus), bus, settings.feed)
        else:
            referee = control.referee
            director = control.director()
            feed = Feed(store, control.observer, bus, settings.feed)
        sessions = Sessions(referee, bus, wires)
        counters = Counters(referee)
        stack.enter_context(listening(bus, COMMITTED, counters.count_commit))
        if control is not None:
            control.membership.on_beat = lambda beat, seconds: counters.count_heartbeat(beat.silent_ms / 1000)
        leads = control.leads if control else lambda: True
        health_servicer = health.aio.HealthServicer()
        guard = StoreGuard(store, local_referee, lambda serves: _set_health(health_servicer, serves=serves))
        await stack.enter_async_context(counters.measuring())
        stack.enter_context(logging_events(bus, play.conditions if play else lambda tournament: None, sessions))
        metrics_address = None
        if settings.metrics is not None:
            from noughts_server.monitoring.prometheus import (
                CallMetrics,
                ClusterMetrics,
                HeartbeatMetrics,
                NoughtsMetrics,
                PlayMetrics,
                serving_metrics,
            )

            collectors: list[NoughtsMetrics] = [
                PlayMetrics(store=store, referee=referee, recorder=recorder, sessions=sessions, counters=counters),
                CallMetrics(counters=counters, feed_counts=feed.counts),
            ]
            if control is not None:
                collectors.append(ClusterMetrics(store=store, referees=control.referee.referees))
                collectors.append(HeartbeatMetrics(counters))
            metrics_address = await stack.enter_async_context(
                serving_metrics(collectors, settings.metrics, store.problem)
            )
        await stack.enter_async_context(feed.feeding())
        limiter = Limiter(settings.limits)
        admission = Admission(store, sessions, limiter, settings.proxies)
        open_files = OpenFiles()
        connections = Connections(settings.limits, admission.busy, open_files.are_exhausted, settings.proxies)
        delivery = Delivery(settings.limits, connections.reset, settings.answer_seconds, counters.refused)
        interceptor = CallInterceptor(admission, delivery, counters.errors, counters.refused)
        authorities = settings.client_authorities
        grpc_server, address = bound_server(
            settings.listen, settings.identity, authorities, interceptor, settings.limits
        )
        analyses: Analyses | None = None
        if settings.analysis:
            analyses = Analyses(store, bus, count_running=referee.count_running, leads=leads, limits=settings.limits)
        server = Server(
            address=address,
            metrics_address=metrics_address,
            settings=settings,
            store=store,
            bus=bus,
            referee=referee,
            recorder=recorder,
            sessions=sessions,
            play=play,
            director=director,
            feed=feed,
            counters=counters,
            leads=leads,
            health=health_servicer,
            analyses=analyses,
            speed=speed,
            presences=None if control is None else control.referee.referees,
        )
        hosting = None if host is None else host(server)
        _add_services(grpc_server, server, hosting, limiter, delivery, admission.websites)
        if control is not None:
            await stack.enter_async_context(control.taking_part(sessions))
        await stack.enter_async_context(running(connections.run(int(address.rpartition(":")[2]))))
        if hosting is not None:
            await hosting.prepare()
        await stack.enter_async_context(serving_calls(grpc_server, sessions, feed))
        webhooks = WebhookDelivery(store, leads, private=settings.private_webhooks).run()
        tokens = closing_ended_sessions(store, sessions)
        challenges = expiring_challenges(store, sessions, director, leads)
        seeks = Seeks(store=store, sessions=sessions, director=director, limiter=limiter, bus=bus, leads=leads)
        ladders = pairing_online_bots(store, sessions, recorder, bus, leads)
        work = (tokens, challenges, ladders, guard.run(), webhooks, open_files.watch(), deleting_leftovers(store))
        await stack.enter_async_context(running(*work))
        if settings.explorer:
            await stack.enter_async_context(running(exploring(store, referee.count_running, leads)))
        if settings.puzzle_search:
            await stack.enter_async_context(running(finding_puzzles(store, referee.count_running, leads)))
        if analyses is not None:
            await stack.enter_async_context(running(analyses.run()))
        if hosting is not None:
            await stack.enter_async_context(running(hosting.run()))
        if local_referee is not None and play is not None:
            await stack.enter_async_context(running(Proofs(local_referee).run()))
            inactivity_check = InactivityCheck(
                store=store,
                referee=local_referee,
                director=director,
                playing=play.playing,
                seconds=settings.inactivity_timeout,
            )
            await stack.enter_async_context(running(inactivity_check.run()))
            await stack.enter_async_context(play.supplying(resumes_play=settings.resumes_play))
        await stack.enter_async_context(director.directing(resumes_play=settings.resumes_play))
        await stack.enter_async_context(running(seeks.run()))
        await _set_health(health_servicer, serves=store.outage is None)
        if store.closed_to_others:
            logger.warning("database_made_private")
        if store.created:
            logger.info("database_created", database=store.url)
        if store.migrated_from is not None:
            logger.info("database_migrated", from_schema=store.migrated_from, to_schema=REVISION)
        logger.info("serving", grpc=address, database=store.url, metrics=metrics_address or "off")
        yield server


def _add_services(
    grpc_server: grpc.aio.Server,
    server: Server,
    hosting: Hosting | None,
    limiter: Limiter,
    delivery: Delivery,
    websites: Websites,
) -> None:
    """Add all services to the gRPC server, which does not answer calls yet."""
    store = server.store
    sessions = server.sessions
    director = server.director
    settings = server.settings
    problems = server.play.problems if server.play else {}
    tournaments = TournamentServicer(
        store=store,
        sessions=sessions,
        director=director,
        limiter=limiter,
        rate_own_games=settings.rate_own_games,
        inactivity_timeout=settings.inactivity_timeout,
        problems=problems,
    )
    views = LeaderboardViews(store)
    leaderboards = LeaderboardServicer(store, sessions, limiter, views, explorer=settings.explorer)
    accepts = hosting.accepts if hosting else ()
    counts = server.feed.counts
    status = StatusServicer(
        address=server.address,
        store=store,
        sessions=sessions,
        referee=server.referee,
        counters=server.counters,
        feed_counts=counts,
        problems=problems,
        accepts=accepts,
        speed=server.speed,
        websites=websites,
        presences=server.presences,
    )
    first_entries = FirstEntries(store, director, limiter.limits)
    play = PlayServicer(store, sessions, limiter, delivery, first_entries)
    play_pb2_grpc.add_PlayServiceServicer_to_server(play, grpc_server)
    bots_pb2_grpc.add_BotServiceServicer_to_server(
        BotServicer(store, sessions, hosting, limiter, first_entries, views), grpc_server
    )
    tournaments_pb2_grpc.add_TournamentServiceServicer_to_server(tournaments, grpc_server)
    tests_pb2_grpc.add_TestServiceServicer_to_server(TestServicer(tournaments), grpc_server)
    games_pb2_grpc.add_GameServiceServicer_to_server(GameServicer(store, server.analyses), grpc_server)
    leaderboards_pb2_grpc.add_LeaderboardServiceServicer_to_server(leaderboards, grpc_server)
    tokens_pb2_grpc.add_TokenServiceServicer_to_server(TokenServicer(store, sessions, limiter.limits), grpc_server)
    registration = RegistrationServicer(store, limiter, settings.registration)
    registration_pb2_grpc.add_RegistrationServiceServicer_to_server(registration, grpc_server)
    webhooks = WebhookServicer(store, limiter, private=settings.private_webhooks)
    webhooks_pb2_grpc.add_WebhookServiceServicer_to_server(webhooks, grpc_server)
    tunings = TuningServicer(store, limiter, settings.tuning_lease)
    tunings_pb2_grpc.add_TuningServiceServicer_to_server(tunings, grpc_server)
    challenges = ChallengeServicer(store, sessions, director, limiter)
    challenges_pb2_grpc.add_ChallengeServiceServicer_to_server(challenges, grpc_server)
    status_pb2_grpc.add_StatusServiceServicer_to_server(status, grpc_server)
    add_feed_service(FeedServicer(server.feed, limiter, delivery), grpc_server)
    health_pb2_grpc.add_HealthServicer_to_server(server.health, grpc_server)
    if settings.reflection:
        from grpc_reflection.v1alpha import reflection

        reflection.enable_server_reflection((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), grpc_server)


async def _set_health(servicer: health.aio.HealthServicer, *, serves: bool) -> None:
    """Set the status of the server, which has an empty name, and of all services."""
    status = health_pb2.HealthCheckResponse
    for service in ("", *SERVICES):
        await servicer.set(service, status.SERVING if serves else status.NOT_SERVING)
