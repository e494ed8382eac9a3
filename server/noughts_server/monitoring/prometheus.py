"""Metrics for Prometheus, read from counters on demand. docs/reference/metrics.md is generated from `ServerMetrics`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, fields
from http.client import HTTPException, parse_headers
from io import BytesIO
from itertools import accumulate

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from noughts_referee.referee_protocols import RefereeCounts
from noughts_referee.rules import Termination
from noughts_server.core.errors import AddressUnusable, DatabaseTrouble
from noughts_server.core.limits import Limits
from noughts_server.core.version import software_version
from noughts_server.feed.channel import FeedCounts
from noughts_server.monitoring.counters import Counters, Distribution
from noughts_server.runtime.recorder import Recorder
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store

_SCRAPE_SECONDS = 10.0
"""Limit for a whole scrape. Without it, clients that send single bytes could use up all scrapes."""
_REFRESH_SECONDS = 1.0
"""Limit for the part that needs the database, because the metrics also report a database that does not answer."""
_MOST_SCRAPES = 8
"""Limit of concurrent scrapes; further clients are disconnected."""


@asynccontextmanager
async def serving_metrics(
    collector: Collector, address: str, refresh: Callable[[], Awaitable[object]]
) -> AsyncIterator[str]:
    """Serve metrics at http://ADDRESS/metrics (HOST:PORT; port 0: any free one) inside the block.

    The collector is called on the event loop, after `refresh`, which can fail with DatabaseTrouble. Yields the address
    with the actual port. Raises AddressUnusable.
    """
    host, _, port = address.rpartition(":")
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)
    scrapes = asyncio.Semaphore(_MOST_SCRAPES)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, EOFError, HTTPException, asyncio.LimitOverrunError):
            if not scrapes.locked():
                async with scrapes, asyncio.timeout(_SCRAPE_SECONDS):
                    with suppress(DatabaseTrouble, TimeoutError):
                        async with asyncio.timeout(_REFRESH_SECONDS):
                            await refresh()
                    writer.write(_response(registry, await reader.readuntil(b"\r\n\r\n")))
                    await writer.drain()

    try:
        server = await asyncio.start_server(answer, host.strip("[]"), int(port))
    except OSError as error:
        raise AddressUnusable(address, option="--metrics") from error
    with closing(server):
        yield f"{host}:{server.sockets[0].getsockname()[1]}"


def _response(registry: CollectorRegistry, request: bytes) -> bytes:
    """Return the metrics in the format that the client prefers, for any path."""
    headers = parse_headers(BytesIO(request.partition(b"\r\n")[2]))
    encode, kind = choose_encoder(headers.get("Accept", ""))
    body = encode(registry)
    return f"HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass(eq=False)
class ServerMetrics(Collector):
    """All metrics of a server, read from the counters of its parts."""

    store: Store
    referee: RefereeCounts
    recorder: Recorder
    sessions: Sessions
    counters: Counters
    feed_counts: FeedCounts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics in the order of the documentation.

        Call it on the event loop's thread, because only that thread changes the counters.
        """
        counters, referee, wires, feed = self.counters, self.referee, self.sessions.counts, self.feed_counts
        trouble = self.store.trouble
        yield _gauges(
            "noughts_build_info",
            "Always 1; the label is the version of the server.",
            "version",
            {software_version(): 1},
        )
        yield CounterMetricFamily("noughts_games", "Stored games; its rate() is games a second.", counters.games)
        yield CounterMetricFamily("noughts_plies", "Moves received from bots.", referee.plies)
        yield _counters(
            "noughts_verdicts",
            "Stored games, by how they ended.",
            "termination",
            {str(Termination(kind)): count for kind, count in counters.terminations.items()},
        )
        yield GaugeMetricFamily("noughts_games_in_flight", "Concurrent games.", referee.in_flight())
        yield GaugeMetricFamily("noughts_slots_queued", "Scheduled games that wait for capacity.", referee.queued())
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
            {} if trouble is None else {trouble.reason: 1},
        )
        yield GaugeMetricFamily("noughts_bots_online", "Bot versions with a stream.", len(self.sessions.present()))
        yield _counters(
            "noughts_frames",
            "Frames to bots (down) and from them (up).",
            "direction",
            {"down": wires.frames_down, "up": wires.frames_up},
        )
        yield CounterMetricFamily("noughts_complaints", "Answers to questions that were never sent.", wires.complaints)
        yield CounterMetricFamily("noughts_late_answers", "Answers that came too late.", referee.late_answers)
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
