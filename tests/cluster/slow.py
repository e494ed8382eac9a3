"""Nodes that are slow and did not die: holders of units that are stopped for a while, and a machine under load."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import grpc.aio

from noughts_proto.v1.tournaments_pb2 import TOURNAMENT_STATE_RUNNING
from tests.chaos.child_processes import ForkedProcess
from tests.cluster.cluster import Cluster, running_cluster
from tests.support.databases import rows_of
from tests.support.patience import PATIENCE

STOPPED_SECONDS = 8.0
BUSY_STANDSTILL_SECONDS = 120.0
"""On a machine that is too busy, no tournament may stand still for longer."""
_REPORT_SECONDS = 60
"""Seconds between two lines of progress."""
_LOOK = 0.1
"""Seconds between two looks."""
_BUSY = "while True: pass"
_HOLDER = "SELECT holder FROM units WHERE holder IS NOT NULL ORDER BY tournament_id, number LIMIT 1"
_PROGRESS = (
    "SELECT slug, games_done, (SELECT coalesce(sum(length(times)), 0) FROM journal WHERE tournament_id = id)"
    " FROM tournaments ORDER BY id"
)
_LOST = "SELECT lost FROM units WHERE lost IS NOT NULL"
NAMES = ("amy", "ben", "cora")
LEAGUES: dict[str, dict[str, Any]] = {
    "fast": {"variant": "mnk:9,9,5", "games_per_pair": 100_000, "concurrency": 4},
    "clocks": {"variant": "mnk:9,9,5", "games_per_pair": 10_000, "time": {"move_us": 20_000_000}},
    "long": {"variant": "mnk:15,15,5", "games_per_pair": 10_000, "time": {"move_us": 60_000_000}, "concurrency": 2},
}
"""Tournaments by ID: without clocks, of bots with few seats, and of journaled games."""


async def holder(cluster: Cluster) -> ForkedProcess:
    """The referee that holds the first unit of the oldest tournament, as soon as one does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        for (name,) in rows_of(cluster.database, _HOLDER):
            pid = int(name.rsplit("-", 2)[1])
            found = [referee for referee in cluster.referees if referee.pid == pid]
            if found:
                return found[0]
        assert time.monotonic() < deadline, f"nobody holds a unit\n{cluster.logs()[-20_000:]}"
        await asyncio.sleep(_LOOK)


async def stop_for_a_while(process: ForkedProcess, seconds: float = STOPPED_SECONDS) -> None:
    """Stop a process for longer than a node can be silent, and let it continue."""
    process.signal(signal.SIGSTOP)
    await asyncio.sleep(seconds)
    process.signal(signal.SIGCONT)


async def wait_until_continues(cluster: Cluster, slug: str, games: int, seconds: float = PATIENCE) -> None:
    """Wait until more than `games` games of a tournament are stored and it has no reason to stop."""
    deadline = time.monotonic() + seconds
    while True:
        tournament = await cluster.tournament(slug)
        if tournament.games_done > games and not tournament.reason:
            return
        assert time.monotonic() < deadline, f"{slug} has stopped: {tournament.reason!r}\n{cluster.logs()[-20_000:]}"
        await asyncio.sleep(_LOOK)


async def stop_often(
    cluster: Cluster, slug: str, times: int, chosen: Callable[[], ForkedProcess] | None = None
) -> None:
    """Stop the holder of a unit, or the chosen process, so often; assert that the tournament continues each time."""
    for _ in range(times):
        process = chosen() if chosen else await holder(cluster)
        before = (await cluster.tournament(slug)).games_done
        await stop_for_a_while(process)
        await wait_until_continues(cluster, slug, before)
    lost = [name for (names,) in rows_of(cluster.database, _LOST) for name in names]
    assert not lost, f"nodes that returned count as lost: {lost}"


async def run_stops(times: int) -> None:
    """Play a league of bots with one seat, and stop the referee that plays it so often."""
    async with running_cluster(servers=1, referees=2) as cluster:
        for name in NAMES:
            cluster.start_bots([name], "Thinking")
        await cluster.wait_until_online(NAMES)
        await cluster.organise("clocks", NAMES, **LEAGUES["clocks"])
        await stop_often(cluster, "clocks", times)


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes that only take processor time, on the processors of this one."""
    loops = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@dataclass
class Busy:
    """The result of a run on a machine that is too busy."""

    games: Counter[str] = field(default_factory=Counter)
    """Stored games by tournament."""
    standstill: dict[str, float] = field(default_factory=dict)
    """The longest time in seconds without a new game or ply, by tournament."""
    silent: dict[str, float] = field(default_factory=dict)
    """The same without a reason."""
    reasons: dict[str, set[str]] = field(default_factory=dict)
    """All reasons that the servers reported, by tournament."""
    load: float = 0.0
    """The load of the machine at the end."""
    events: Counter[str] = field(default_factory=Counter)
    """Count the log events that concern slowness."""
    checked: dict[str, int] = field(default_factory=dict)
    say: Callable[[str], object] = lambda line: None


_EVENTS = (
    *("node_presumed_dead", "tournament_stopped", "referee_silent", "server_silent", "games_refused"),
    *("database_unavailable", "bus_disconnected", "unexpected_error"),
)


async def run_busy(busy: Busy, *, minutes: float, load: int, cpu: int | None = None, calm_seconds: float = 60) -> None:
    """Play the leagues on one processor with so many busy loops; watch the progress and the reasons."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0)) if cpu is None else cpu})
    async with running_cluster(servers=2, referees=2) as cluster:
        for slug, settings in LEAGUES.items():
            names = [f"{slug}-{name}" for name in NAMES]
            cluster.start_bots(names, "Unhurried")
            await cluster.wait_until_online(names)
            await cluster.organise(slug, names, **settings)
        with busy_loops(load):
            await _watch(cluster, busy, 60 * minutes)
            busy.load = os.getloadavg()[0]
        await _watch(cluster, busy, calm_seconds)
        for slug in LEAGUES:
            await wait_until_continues(cluster, slug, (await cluster.tournament(slug)).games_done)
        logs = cluster.logs()
        busy.events.update({event: logs.count(event) for event in _EVENTS})
        busy.games.update({slug: games for slug, games, _ in rows_of(cluster.database, _PROGRESS)})
        twice = "SELECT count(*) FROM (SELECT 1 FROM games GROUP BY tournament_id, ordinal HAVING count(*) > 1) AS t"
        busy.checked["stored twice"] = rows_of(cluster.database, twice)[0][0]
        for slug in LEAGUES:
            await cluster.cancel(slug)


async def _watch(cluster: Cluster, busy: Busy, seconds: float) -> None:
    """Look once a second at the progress in the database, and at what the servers tell."""
    end = time.monotonic() + seconds
    since = dict.fromkeys(LEAGUES, time.monotonic())
    quiet = dict(since)
    known: dict[str, Sequence[Any]] = {}
    last_report = time.monotonic()
    while time.monotonic() < end:
        progress: dict[str, Sequence[Any]] = {
            slug: counts for slug, *counts in await asyncio.to_thread(rows_of, cluster.database, _PROGRESS)
        }
        now = time.monotonic()
        for slug in LEAGUES:
            if progress.get(slug) != known.get(slug):
                since[slug] = quiet[slug] = now
            busy.standstill[slug] = max(busy.standstill.get(slug, 0.0), now - since[slug])
            if now - since[slug] > STOPPED_SECONDS:
                with suppress(grpc.aio.AioRpcError):
                    tournament = await cluster.tournament(slug)
                    assert tournament.state == TOURNAMENT_STATE_RUNNING
                    if tournament.reason:
                        busy.reasons.setdefault(slug, set()).add(tournament.reason)
                        quiet[slug] = time.monotonic()
            busy.silent[slug] = max(busy.silent.get(slug, 0.0), now - quiet[slug])
        known = progress
        if now - last_report > _REPORT_SECONDS:
            last_report = now
            busy.say(f"{end - now:.0f} s left, load {os.getloadavg()[0]:.0f}: {progress}, {busy.standstill}")
        await asyncio.sleep(1)
