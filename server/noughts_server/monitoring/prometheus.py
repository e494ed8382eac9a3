"""Metrics for Prometheus, read from counters on demand. docs/reference/metrics.md is generated from them."""

import asyncio
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, fields
from http.client import HTTPException, parse_headers
from importlib import resources
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

_METRICS = tomllib.loads(resources.files(__package__).joinpath("metrics.toml").read_text(encoding="utf-8"))
_SCRAPE_SECONDS = 10.0
"""Limit for the whole scrape: a client that sends single bytes would otherwise keep others out."""
_REFRESH_SECONDS = 1.0
"""Limit for the part that needs the database: metrics also tell about a database that does not answer."""
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
    free = asyncio.Semaphore(_MOST_SCRAPES)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, EOFError, HTTPException, asyncio.LimitOverrunError):
            if not free.locked():
                async with free, asyncio.timeout(_SCRAPE_SECONDS):
                    with suppress(DatabaseTrouble, TimeoutError):
                        async with asyncio.timeout(_REFRESH_SECONDS):
                            await refresh()
                    writer.write(_response(registry, await reader.readuntil(b"\r\n\r\n")))
                    await writer.drain()

    try:
        web = await asyncio.start_server(answer, host.strip("[]"), int(port))
    except OSError as error:
        raise AddressUnusable(address, option="--metrics") from error
    with closing(web):
        yield f"{host}:{web.sockets[0].getsockname()[1]}"


def _response(registry: CollectorRegistry, request: bytes) -> bytes:
    """Return the metrics in the format that the client prefers, whatever it requests."""
    headers = parse_headers(BytesIO(request.partition(b"\r\n")[2]))
    encode, kind = choose_encoder(headers.get("Accept", ""))
    body = encode(registry)
    return f"HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass(eq=False)
class ServerMetrics(Collector):
    """All metrics of a server, read from the counters of its parts. `metrics.toml` describes them."""

    store: Store
    referee: RefereeCounts
    recorder: Recorder
    sessions: Sessions
    counters: Counters
    feed_counts: FeedCounts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics. Call it on the event loop's thread, which alone changes the counters."""
        counters, referee, wires, feed = self.counters, self.referee, self.sessions.counts, self.feed_counts
        trouble = self.store.trouble
        values: dict[str, float | Mapping[str, int] | Distribution] = {
            "build_info": {software_version(): 1},
            "games": counters.games,
            "plies": referee.plies,
            "verdicts": {str(Termination(kind)): count for kind, count in counters.terminations.items()},
            "games_in_flight": referee.in_flight(),
            "slots_queued": referee.queued(),
            "commit_seconds": counters.commits,
            "commit_games": counters.commit_games,
            "recorder_backlog": self.recorder.backlog,
            "loop_lag_seconds": counters.lag,
            "stalled_seconds": referee.stalls.total_us / 1e6,
            "excused": referee.stalls.excused,
            "database_bytes": self.store.last_size_bytes,
            "database_trouble": {} if trouble is None else {trouble.reason: 1},
            "bots_online": len(self.sessions.present()),
            "frames": {"down": wires.frames_down, "up": wires.frames_up},
            "complaints": wires.complaints,
            "late_answers": referee.late_answers,
            "errors": counters.errors,
            "refused": {each.name: counters.refused[each.name] for each in fields(Limits)},
            "feed_watchers": feed.watchers,
            "feed_events": feed.events,
            "feed_frames": feed.frames,
            "feed_resyncs": feed.resyncs,
        }
        return (_family(f"noughts_{name}", value) for name, value in values.items())


def _family(name: str, value: float | Mapping[str, int] | Distribution) -> Metric:
    told = _METRICS[name]
    if isinstance(value, Distribution):
        bounds = [*map(str, map(float, value.bounds)), "+Inf"]
        buckets = list(zip(bounds, accumulate(value.counts), strict=True))
        return HistogramMetricFamily(name, told["text"], buckets=buckets, sum_value=value.total)
    kind = CounterMetricFamily if told["kind"] == "counter" else GaugeMetricFamily
    if not isinstance(value, Mapping):
        return kind(name, told["text"], value)
    family = kind(name, told["text"], labels=[told["label"]])
    for label, count in sorted(value.items()):
        family.add_metric([label], count)
    return family
