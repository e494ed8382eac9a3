"""Metrics for Prometheus, read from counters on demand. docs/reference/metrics.md is generated from them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, fields
from socket import AF_INET6, SHUT_RDWR, socket
from socketserver import ThreadingMixIn
from threading import Semaphore, Thread, Timer
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from noughts_referee.referee_protocols import RefereeCounts
from noughts_referee.rules import Termination
from noughts_server.errors import AddressUnusable
from noughts_server.feed.channel import FeedCounts
from noughts_server.limits import Limits
from noughts_server.monitoring.counters import Counters, Distribution
from noughts_server.runtime.recorder import Recorder
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store
from noughts_server.version import software_version

_PATIENCE_SECONDS = 5.0
_SCRAPE_SECONDS = 10.0
"""Limit for the whole scrape: a client that sends single bytes would otherwise occupy a thread for ever."""
_STALLED = "Time by which the loop was late, if more than 20 ms; clocks do not run then."
_MOST_SCRAPES = 8
"""Limit of concurrent scrapes, with a thread for each."""


@asynccontextmanager
async def serving_metrics(collect: Callable[[], Iterator[Metric]], address: str) -> AsyncIterator[str]:
    """Serve metrics at http://ADDRESS/metrics (HOST:PORT; port 0: any free one) inside the block.

    `collect` is called on the event loop's thread. Yields the address with the actual port. Raises AddressUnusable.
    """
    host, _, port = address.rpartition(":")
    registry = CollectorRegistry()
    registry.register(_ThreadSafe(collect, asyncio.get_running_loop()))
    ProcessCollector(registry=registry)
    host_name = host.strip("[]")
    kind = _WebServer6 if ":" in host_name else _WebServer
    try:
        web = make_server(host_name, int(port), make_wsgi_app(registry), kind, _Request)
    except OSError as error:
        raise AddressUnusable(address, option="--metrics") from error
    thread = Thread(target=web.serve_forever, name="metrics", daemon=True)
    thread.start()

    def stop() -> None:
        web.shutdown()
        web.server_close()
        thread.join()

    try:
        yield f"{host}:{web.server_port}"
    finally:
        # Not on the loop, because a scrape in progress needs the loop.
        await asyncio.to_thread(stop)


class _WebServer(ThreadingMixIn, WSGIServer):
    """A server that answers a few clients concurrently and disconnects others."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._free = Semaphore(_MOST_SCRAPES)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle the request in a thread, if one is free."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle the request within the time limit."""
        ending = Timer(_SCRAPE_SECONDS, _hang_up, [request])
        ending.daemon = True
        ending.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            ending.cancel()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect or are too slow."""


def _hang_up(request: socket) -> None:
    with suppress(OSError):  # it has ended
        request.shutdown(SHUT_RDWR)


class _WebServer6(_WebServer):
    address_family = AF_INET6


class _Request(WSGIRequestHandler):
    timeout = 5
    """Seconds without data after which a client is disconnected."""

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


class _ThreadSafe(Collector):
    """A collector that reads the counters on the event loop's thread, which changes them; scrapes use others."""

    def __init__(self, collect: Callable[[], Iterator[Metric]], loop: asyncio.AbstractEventLoop) -> None:
        self._collect = collect
        self._loop = loop

    def collect(self) -> Iterator[Metric]:
        reading = asyncio.run_coroutine_threadsafe(self._read(), self._loop)
        try:
            yield from reading.result(_PATIENCE_SECONDS)
        except (TimeoutError, CancelledError):
            # If the loop is too slow, these metrics are missing and only those of the process remain.
            reading.cancel()

    def describe(self) -> list[Metric]:
        # Without this, registering would collect and wait for the loop that it blocks.
        return []

    async def _read(self) -> list[Metric]:
        return list(self._collect())


@dataclass(eq=False)
class ServerMetrics:
    """All metrics of a server, read from the counters of its parts."""

    store: Store
    referee: RefereeCounts
    recorder: Recorder
    sessions: Sessions
    counters: Counters
    feed_counts: FeedCounts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics. Called on the event loop's thread, which alone changes the counters."""
        what = "Always 1; the label is the version of the server."
        build = GaugeMetricFamily("noughts_build_info", what, labels=["version"])
        build.add_metric([software_version()], 1)
        yield build
        yield from self._of_games()
        yield from self._of_commits()
        yield from self._of_bots()
        what = "Calls that ended with an error, by its ErrorInfo.reason."
        yield _labelled("noughts_errors", what, "reason", self.counters.errors)
        refused = {each.name: self.counters.refused[each.name] for each in fields(Limits)}
        yield _labelled("noughts_refused", "Calls beyond a limit, by its name.", "limit", refused)
        yield from self._of_feed()

    def _of_games(self) -> Iterator[Metric]:
        referee, counters = self.referee, self.counters
        yield CounterMetricFamily("noughts_games", "Stored games; its rate() is games a second.", counters.games)
        yield CounterMetricFamily("noughts_plies", "Moves received from bots.", referee.plies)
        endings = {str(Termination(kind)): count for kind, count in counters.terminations.items()}
        yield _labelled("noughts_verdicts", "Stored games, by how they ended.", "termination", endings)
        yield GaugeMetricFamily("noughts_games_in_flight", "Concurrent games.", referee.in_flight())
        yield GaugeMetricFamily("noughts_slots_queued", "Scheduled games that wait for capacity.", referee.queued())

    def _of_commits(self) -> Iterator[Metric]:
        counters, backlog = self.counters, self.recorder.backlog
        what = "Duration of a commit, including the wait for the writer."
        yield _histogram("noughts_commit_seconds", what, counters.commits)
        yield _histogram("noughts_commit_games", "Games in a commit.", counters.commit_games)
        yield GaugeMetricFamily("noughts_recorder_backlog", "Games that are played and not yet stored.", backlog)
        what = "Delay of a timer of the event loop, ten times a second."
        yield _histogram("noughts_loop_lag_seconds", what, counters.lag)
        stalls = self.referee.stalls
        yield CounterMetricFamily("noughts_stalled_seconds", _STALLED, stalls.total_us / 1e6)
        yield CounterMetricFamily("noughts_excused", "Questions that a stall would have lost on time.", stalls.excused)
        size, what = self.store.size_bytes(), "Size of the database with its write-ahead log."
        yield GaugeMetricFamily("noughts_database_bytes", what, size)
        what = "1 while the database is unavailable; otherwise absent."
        trouble = GaugeMetricFamily("noughts_database_trouble", what, labels=["reason"])
        if self.store.trouble is not None:
            trouble.add_metric([self.store.trouble.reason], 1)
        yield trouble

    def _of_bots(self) -> Iterator[Metric]:
        wires, late = self.sessions.counts, self.referee.late_answers
        yield GaugeMetricFamily("noughts_bots_online", "Bot versions with a stream.", len(self.sessions.present()))
        frames = {"down": wires.frames_down, "up": wires.frames_up}
        yield _labelled("noughts_frames", "Frames to bots (down) and from them (up).", "direction", frames)
        yield CounterMetricFamily("noughts_complaints", "Answers to questions that were never sent.", wires.complaints)
        yield CounterMetricFamily("noughts_late_answers", "Answers that came too late.", late)

    def _of_feed(self) -> Iterator[Metric]:
        counts = self.feed_counts
        yield GaugeMetricFamily("noughts_feed_watchers", "Open streams of the feed.", counts.watchers)
        yield CounterMetricFamily("noughts_feed_events", "Events of the feed.", counts.events)
        yield CounterMetricFamily("noughts_feed_frames", "Frames to watchers.", counts.frames)
        what = "Watchers that were too slow and had to resynchronise."
        yield CounterMetricFamily("noughts_feed_resyncs", what, counts.resyncs)


def _labelled(name: str, text: str, label: str, counts: dict[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def _histogram(name: str, text: str, values: Distribution) -> Metric:
    buckets: list[tuple[str, float]] = []
    below = 0
    for bound, count in zip((*map(float, values.bounds), float("inf")), values.counts, strict=True):
        below += count
        buckets.append(("+Inf" if bound == float("inf") else str(bound), below))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=values.total)
