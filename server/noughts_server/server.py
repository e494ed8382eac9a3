"""The composition root: one server out of its parts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from grpc_health.v1 import health, health_pb2

from noughts_bots.process import allow_many_files, tune_collector
from noughts_referee.frame_connection import WireSettings
from noughts_referee.referee import Referee
from noughts_server.feed.feed import Feed
from noughts_server.feed.observer import FeedObserver
from noughts_server.monitoring.counters import Counters
from noughts_server.monitoring.event_log import EventLog
from noughts_server.runtime.absences import Absences
from noughts_server.runtime.bus import Bus, MemoryBus
from noughts_server.runtime.challenge_expiry import ChallengeExpiry
from noughts_server.runtime.director import Director
from noughts_server.runtime.hosting import Hosting
from noughts_server.runtime.recorder import COMMITTED, DAMAGED, Recorder
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.store_guard import StoreGuard
from noughts_server.runtime.token_expiry import TokenExpiry
from noughts_server.services.admission import Admission
from noughts_server.services.endpoint import SERVICES, add_services, answering, bound_server
from noughts_server.services.interceptor import CallInterceptor
from noughts_server.services.limiter import Limiter
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.database import Store, default_database_url

if TYPE_CHECKING:
    from noughts_server.cluster.control import Control

logger = structlog.get_logger("noughts.server")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, for whoever runs it in this process. Made by `running_server`."""

    address: str
    """HOST:PORT where it listens."""
    metrics_address: str | None
    """HOST:PORT where Prometheus may ask; None is nowhere."""
    settings: ServerSettings
    store: Store
    bus: Bus
    referee: Referee
    recorder: Recorder
    sessions: Sessions
    director: Director
    feed: Feed
    counters: Counters
    hosting: Hosting
    leads: Callable[[], bool]
    """Whether it does what one server of a cluster has to do for all."""
    health: health.aio.HealthServicer

    async def drain(self) -> None:
        """Stops politely: NOT_SERVING, no new games, those running are finished and stored. Idempotent."""
        self.counters.draining = True
        await self.health.enter_graceful_shutdown()
        try:
            await asyncio.wait_for(self.director.drain(), self.settings.drain_timeout)
        except TimeoutError:
            logger.warning("drain timed out", seconds=self.settings.drain_timeout)
            self.director.abandon()


@asynccontextmanager
async def running_server(settings: ServerSettings) -> AsyncIterator[Server]:
    """A server that accepts calls inside the `async with` block.

    Raises what makes it unable to start or to go on, and what the block raises, bare: not in the exception groups of
    the server's own tasks.
    """
    try:
        async with _running_server(settings) as server:
            yield server
    except BaseExceptionGroup as group:
        raise first_of(group) from group


def first_of(group: BaseExceptionGroup) -> BaseException:
    """The first of what went wrong."""
    error = group.exceptions[0]
    return first_of(error) if isinstance(error, BaseExceptionGroup) else error


@asynccontextmanager
async def _running_server(settings: ServerSettings) -> AsyncIterator[Server]:
    tune_collector()
    allow_many_files()
    async with AsyncExitStack() as stack:
        shared = settings.bus is not None
        store = await Store.open(settings.database or default_database_url(), alone=not shared)
        stack.push_async_callback(store.close)
        control = await stack.enter_async_context(_joined(store, settings))
        bus: Bus = MemoryBus() if control is None else control.bus
        recorder = Recorder(
            store,
            lambda report: bus.publish(COMMITTED, report),
            on_damage=lambda tournament, error: bus.publish(DAMAGED, (tournament, error)),
        )
        recording = await stack.enter_async_context(asyncio.TaskGroup())
        recording.create_task(recorder.run(), name="recorder")
        stack.push_async_callback(recorder.close)
        # Before that: a trouble of the store must not keep a server from ending.
        stack.callback(store.lose_patience, settings.store_patience)
        wires = WireSettings(settings.heartbeat, settings.grace, network_cap_us=settings.network_cap_us)
        if control is None:
            referee = Referee(recorder.record, margin_us=settings.margin_us, journal=recorder.journal)
            director = Director(store, referee, recorder, bus, store_patience=settings.store_patience)
            feed = Feed(store, FeedObserver(referee, bus), bus, settings.feed)
        else:
            referee = control.desk
            director = control.director(recorder, store_patience=settings.store_patience)
            feed = Feed(store, control.observer, control.feed_bus, settings.feed)
        sessions = Sessions(referee, bus, wires)
        counters = Counters(referee, bus)
        hosting = Hosting()
        token_expiry = TokenExpiry(store, sessions)
        challenge_expiry = ChallengeExpiry(store, sessions, director, control.leads if control else lambda: True)
        # In a cluster the referees see to that.
        absences = Absences(store, referee, director, 0 if shared else settings.absence)
        health_servicer = health.aio.HealthServicer()
        guard = StoreGuard(store, referee, lambda serves: _tell_health(health_servicer, serves))
        await stack.enter_async_context(counters.measuring())
        stack.enter_context(EventLog(bus, director, sessions).writing())
        metrics_address = None
        if settings.metrics is not None:
            from noughts_server.monitoring.prometheus import ServerMetrics, serving_metrics

            metrics = ServerMetrics(store, referee, recorder, sessions, counters, feed.counts)
            metrics_address = await stack.enter_async_context(serving_metrics(metrics.collect, settings.metrics))
        await stack.enter_async_context(feed.feeding())
        limiter = Limiter(settings.limits)
        admission = Admission(store, sessions, limiter, settings.proxies)
        grpc_server, address = bound_server(
            settings.listen,
            settings.identity,
            settings.client_authorities,
            CallInterceptor(admission, counters.errors, counters.refused),
            settings.limits,
        )
        add_services(
            grpc_server,
            address=address,
            store=store,
            sessions=sessions,
            director=director,
            referee=referee,
            counters=counters,
            feed=feed,
            hosting=hosting,
            token_expiry=token_expiry,
            limiter=limiter,
            health_servicer=health_servicer,
            with_reflection=settings.reflection,
            rate_own_games=settings.rate_own_games,
            absence=settings.absence,
        )
        if control is not None:
            await stack.enter_async_context(control.taking_part(sessions))
        await stack.enter_async_context(answering(grpc_server, sessions, feed))
        await stack.enter_async_context(director.directing(goes_on=settings.goes_on))
        await stack.enter_async_context(
            _running(token_expiry.run(), challenge_expiry.run(), absences.run(), guard.run())
        )
        await _tell_health(health_servicer, store.trouble is None)
        if store.closed_to_others:
            logger.warning("the database is for this user alone now: other users could read it, or hold it up")
        if store.created:
            logger.info(f"new database at {store.url}")
        logger.info("serving", grpc=address, database=store.url, metrics=metrics_address or "off")
        yield Server(
            address=address,
            metrics_address=metrics_address,
            settings=settings,
            store=store,
            bus=bus,
            referee=referee,
            recorder=recorder,
            sessions=sessions,
            director=director,
            feed=feed,
            counters=counters,
            hosting=hosting,
            leads=control.leads if control else lambda: True,
            health=health_servicer,
        )
        referee.stop_starting()


@asynccontextmanager
async def _joined(store: Store, settings: ServerSettings) -> "AsyncIterator[Control | None]":
    """The server's part in a cluster, if it belongs to one."""
    if settings.bus is None:
        yield None
        return
    from noughts_server.cluster.control import joined

    async with joined(store, settings.bus, margin_us=settings.margin_us) as control:
        yield control


async def _tell_health(servicer: health.aio.HealthServicer, serves: bool) -> None:
    status = health_pb2.HealthCheckResponse
    for service in ("", *SERVICES):
        await servicer.set(service, status.SERVING if serves else status.NOT_SERVING)


@asynccontextmanager
async def _running(*endless: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs work that never ends by itself inside the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in endless]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
