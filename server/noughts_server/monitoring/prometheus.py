"""Metrics for Prometheus and the health of a process, over HTTP. The classes here list all metrics for the docs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, fields
from http.client import HTTPException, parse_headers
from io import BytesIO
from itertools import accumulate
from typing import Protocol

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from noughts_proto.v1.cluster_pb2 import RefereePresence
from noughts_referee.referee_protocols import RefereeCounts
from noughts_referee.rules import Termination
from noughts_server.core.errors import AddressUnusable, DatabaseUnavailable
from noughts_server.core.limits import Limits
from noughts_server.core.version import software_version
from noughts_server.feed.channel import FeedCounts
from noughts_server.monitoring.counters import Counters, Distribution
from noughts_server.runtime.recorder import Recorder
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store
from noughts_server.store.nodes import Member, NodeKind, members
from noughts_server.store.tournaments.claims import open_units

_SCRAPE_SECONDS = 10.0
"""Limit for a whole scrape. Without it, clients that send single bytes could use up all scrapes."""
_REFRESH_SECONDS = 1.0
"""Limit for the part that needs the database, because the metrics also report a database that does not answer."""
_MOST_SCRAPES = 8
"""Limit of concurrent scrapes; further clients are disconnected."""


class NoughtsMetrics(Collector):
    """Metrics of one part of a process."""

    async def refresh(self) -> None:
        """Read from the database what `collect` needs. Raises DatabaseUnavailable."""


@asynccontextmanager
async def serving_metrics(
    parts: Sequence[NoughtsMetrics], address: str, problem: Callable[[], str | None]
) -> AsyncIterator[str]:
    """Serve metrics at http://ADDRESS/metrics, and the health at /health, inside the block.

    ADDRESS is HOST:PORT; port 0: any free one. `problem` says why the process cannot do its work now, if it cannot;
    the health has the status 503 then. The parts are collected on the event loop. Yields the address with the actual
    port. Raises AddressUnusable.
    """
    host, _, port = address.rpartition(":")
    registry = CollectorRegistry()
    for part in parts:
        registry.register(part)
    ProcessCollector(registry=registry)
    scrapes = asyncio.Semaphore(_MOST_SCRAPES)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, EOFError, HTTPException, asyncio.LimitOverrunError):
            if not scrapes.locked():
                async with scrapes, asyncio.timeout(_SCRAPE_SECONDS):
                    request = await reader.readuntil(b"\r\n\r\n")
                    if _path(request) == "/health":
                        writer.write(_health(problem()))
                    else:
                        await _refresh(parts)
                        writer.write(_metrics(registry, request))
                    await writer.drain()

    try:
        server = await asyncio.start_server(answer, host.strip("[]"), int(port))
    except OSError as error:
        raise AddressUnusable(address, option="--metrics") from error
    with closing(server):
        yield f"{host}:{server.sockets[0].getsockname()[1]}"


async def _refresh(parts: Sequence[NoughtsMetrics]) -> None:
    """Have all parts read from the database, unless that takes too long."""
    with suppress(DatabaseUnavailable, TimeoutError):
        async with asyncio.timeout(_REFRESH_SECONDS):
            for part in parts:
                await part.refresh()


def _path(request: bytes) -> str:
    """Return the path of an HTTP request without its query; empty if it has none."""
    words = request.split(b"\r\n", 1)[0].split()
    return words[1].partition(b"?")[0].decode(errors="replace") if len(words) > 1 else ""


def _metrics(registry: CollectorRegistry, request: bytes) -> bytes:
    """Return the answer with the metrics in the format that the client prefers, for any path."""
    headers = parse_headers(BytesIO(request.partition(b"\r\n")[2]))
    encode, kind = choose_encoder(headers.get("Accept", ""))
    return _response("200 OK", kind, encode(registry))


def _health(problem: str | None) -> bytes:
    status = "200 OK" if problem is None else "503 Service Unavailable"
    return _response(status, "text/plain; charset=utf-8", f"{problem or 'ok'}\n".encode())


def _response(status: str, kind: str, body: bytes) -> bytes:
    return f"HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass(eq=False)
class PlayMetrics(NoughtsMetrics):
    """What a server, or a referee of a cluster, measures of games and of itself."""

    store: Store
    referee: RefereeCounts
    recorder: Recorder
    sessions: Sessions
    counters: Counters

    async def refresh(self) -> None:
        await self.store.size_bytes()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics in the order of the documentation.

        Call it on the event loop's thread, because only that thread changes the counters.
        """
        counters, referee, wires = self.counters, self.referee, self.sessions.counts
        outage = self.store.outage
        yield _gauges("noughts_build_info", "Always 1; the label is the version.", "version", {software_version(): 1})
        yield CounterMetricFamily("noughts_games", "Stored games; its rate() is games a second.", counters.games)
        yield CounterMetricFamily("noughts_plies", "Moves received from bots.", referee.plies)
        yield _counters(
            "noughts_verdicts",
            "Stored games, by how they ended.",
            "termination",
            {str(Termination(kind)): count for kind, count in counters.terminations.items()},
        )
        yield GaugeMetricFamily("noughts_games_in_flight", "Concurrent games.", referee.count_running())
        yield GaugeMetricFamily(
            "noughts_slots_queued", "Scheduled games that wait for capacity.", referee.count_queued()
        )
        yield _histogram(
            "noughts_commit_seconds", "Duration of a commit, including the wait for the writer.", counters.commits
        )
        yield _histogram("noughts_commit_games", "Games in a commit.", counters.commit_games)
        yield GaugeMetricFamily(
            "noughts_recorder_backlog", "Games that are played and not yet stored.", self.recorder.backlog
        )
        yield _histogram(
            "noughts_loop_lag_seconds", "Delay of a timer of the event loop, fifty times a second.", counters.lag
        )
        yield CounterMetricFamily(
            "noughts_stalled_seconds",
            "Time by which the loop was late, if more than 20 ms; clocks do not run then.",
            referee.stalls.total_us / 1e6,
        )
        yield CounterMetricFamily(
            "noughts_excused", "Questions that a stall would have lost on time.", referee.stalls.excused
        )
        yield GaugeMetricFamily(
            "noughts_database_bytes", "Size of the database with its write-ahead log.", self.store.last_size_bytes
        )
        yield _gauges(
            "noughts_database_trouble",
            "1 while the database is unavailable; otherwise absent.",
            "reason",
            {} if outage is None else {outage.reason: 1},
        )
        yield GaugeMetricFamily("noughts_bots_online", "Bot versions with a stream.", len(self.sessions.present()))
        yield _counters(
            "noughts_frames",
            "Frames to bots (down) and from them (up).",
            "direction",
            {"down": wires.frames_sent, "up": wires.frames_received},
        )
        yield CounterMetricFamily("noughts_complaints", "Answers to questions that were never sent.", wires.complaints)
        yield CounterMetricFamily("noughts_late_answers", "Answers that came too late.", referee.late_answers)


@dataclass(eq=False)
class CallMetrics(NoughtsMetrics):
    """What a server measures of calls and of watchers."""

    counters: Counters
    feed_counts: FeedCounts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics in the order of the documentation, as `PlayMetrics` does."""
        counters, feed = self.counters, self.feed_counts
        yield _counters(
            "noughts_errors", "Calls that ended with an error, by its ErrorInfo.reason.", "reason", counters.errors
        )
        yield _counters(
            "noughts_refused",
            "Calls beyond a limit, by its name.",
            "limit",
            {limit.name: counters.refused[limit.name] for limit in fields(Limits)},
        )
        yield GaugeMetricFamily("noughts_feed_watchers", "Open streams of the feed.", feed.watchers)
        yield CounterMetricFamily("noughts_feed_events", "Events of the feed.", feed.events)
        yield CounterMetricFamily("noughts_feed_frames", "Frames to watchers.", feed.frames)
        yield CounterMetricFamily(
            "noughts_feed_resyncs", "Watchers that were too slow and had to resynchronise.", feed.resyncs
        )


@dataclass(eq=False)
class ClusterMetrics(NoughtsMetrics):
    """What a server of a cluster knows of the whole cluster."""

    store: Store
    referees: Mapping[str, RefereePresence]
    """The last presence of each referee, by name."""

    def __post_init__(self) -> None:
        # Unknown numbers have no samples: a 0 would scale referees down, and raise alerts.
        self._open_units: int | None = None
        self._nodes: list[Member] | None = None

    async def refresh(self) -> None:
        self._open_units, self._nodes = await self.store.read(
            lambda connection: (open_units(connection), members(connection))
        )

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics in the order of the documentation, as `PlayMetrics` does."""
        nodes = self._nodes or []
        yield GaugeMetricFamily(
            "noughts_units_open", "Units of running tournaments that are not played completely.", self._open_units
        )
        yield _gauges(
            "noughts_units_held",
            "Units that a node plays.",
            "node",
            {node.name: node.units for node in nodes if node.kind is NodeKind.REFEREE},
        )
        kinds = Counter(node.kind for node in nodes)
        yield _gauges(
            "noughts_nodes",
            "Live nodes of the cluster.",
            "kind",
            {} if self._nodes is None else {kind.name.lower(): kinds[kind] for kind in NodeKind},
        )
        yield _gauges(
            "noughts_games_running",
            "Concurrent games of a node.",
            "node",
            {name: presence.games_in_flight for name, presence in self.referees.items()},
        )


@dataclass(eq=False)
class HeartbeatMetrics(NoughtsMetrics):
    """What a server or referee of a cluster measures of its heartbeats."""

    counters: Counters

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics in the order of the documentation, as `PlayMetrics` does."""
        yield _histogram(
            "noughts_heartbeat_delay_seconds",
            "How much later than a second after the previous one a heartbeat of this node was stored.",
            self.counters.heartbeats,
        )


class SiteCounts(Protocol):
    """Counts of a website."""

    responses: Counter[int]
    """Responses by HTTP status."""
    running: int
    """Requests whose response has not ended."""


@dataclass(eq=False)
class WebsiteMetrics(NoughtsMetrics):
    """What a website measures that is a process of its own."""

    counts: SiteCounts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics in the order of the documentation, as `PlayMetrics` does."""
        yield _counters(
            "noughts_web_responses",
            "Responses of the website, by HTTP status.",
            "status",
            {str(status): number for status, number in self.counts.responses.items()},
        )
        yield GaugeMetricFamily(
            "noughts_web_requests", "Requests of visitors that are open, live streams included.", self.counts.running
        )


def _counters(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    """Return a counter for each value of the label."""
    return _labelled(CounterMetricFamily(name, text, labels=[label]), values)


def _gauges(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    """Return a gauge for each value of the label."""
    return _labelled(GaugeMetricFamily(name, text, labels=[label]), values)


def _labelled(family: CounterMetricFamily | GaugeMetricFamily, values: Mapping[str, int]) -> Metric:
    for label, value in sorted(values.items()):
        family.add_metric([label], value)
    return family


def _histogram(name: str, text: str, distribution: Distribution) -> Metric:
    bounds = [*map(str, map(float, distribution.bounds)), "+Inf"]
    buckets = list(zip(bounds, accumulate(distribution.counts), strict=True))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=distribution.total)
