"""Measure a cluster with different numbers of referees, compared with a single server and a bare bus.

    python -m benchmarks.cluster [--rounds 5] [--seconds 4] [rates] [events] [latency] [sleeping]

`rates`: games per second with 1, 2 and 3 referees, two servers and ten remote bots, and with a single server, all with
PostgreSQL; also messages per second between two processes over a bare NATS. `events`: plies per second that reach 120
watchers of 60 long games. `latency`: the time of a ply with one game at a time, with and without the bus. `sleeping`:
games per second of engines that sleep 0.25 s per move and need no core, with 1 to 16 referees of two processes each.
Runs alternate; the results are medians of the rounds. NATS and PostgreSQL come from the wheels of the tests and run on
this machine.
"""

import argparse
import asyncio
import os
import signal
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import nats
from rich.console import Console
from rich.table import Table

from noughts_bots.connection.event_loop import run_loop
from noughts_proto.v1 import tournaments_pb2, tournaments_pb2_grpc
from tests.chaos.child_processes import ForkedProcess
from tests.cluster.cluster import Cluster, running_cluster
from tests.cluster.disruptions import watch_tournament
from tests.cluster.run import bot_file
from tests.cluster.watching import Observer

_BOTS = [f"bot{number}" for number in range(10)]
_WARM_UP_SECONDS = 1.5
"""Seconds of play before a measurement begins."""
_ENDLESS = 100_000
"""Games of each pair: more than can be played during a measurement."""
_WATCHED_GAMES = 60
"""Concurrent games, all of which are watched."""
_MESSAGE_BYTES = 250
_CONSOLE = Console(soft_wrap=True)
_CANCEL_LEAGUE = tournaments_pb2.CancelTournamentRequest(name="tournaments/league")

Figures = dict[str, float]


@asynccontextmanager
async def _league(
    referees: int, bots: list[str], *, options: tuple[str, ...] = (), remote: bool = True, **settings: Any
) -> AsyncIterator[Cluster]:
    """Run a tournament inside the block. Without referees, one server plays it. `remote`: the bots are processes."""
    async with running_cluster(servers=2 if referees else 0, referees=referees, options=options) as cluster:
        if not referees:
            await cluster.start_server(alone=True)
        if remote:
            half = len(bots) // 2
            cluster.start_bots(bots[:half])
            cluster.start_bots(bots[half:])
        await cluster.wait_until_online(bots)
        await cluster.organise("league", bots, **settings)
        yield cluster
        stub = cluster.stub(tournaments_pb2_grpc.TournamentServiceStub)
        await cluster.call(stub.CancelTournament, _CANCEL_LEAGUE)


async def _rate(cluster: Cluster, seconds: float) -> float:
    """Return the number of stored games per second."""
    games, began = cluster.stored(), time.perf_counter()
    await asyncio.sleep(seconds)
    return (cluster.stored() - games) / (time.perf_counter() - began)


async def _games(referees: int, seconds: float) -> Figures:
    async with _league(referees, _BOTS, games_per_pair=_ENDLESS, rated=True) as cluster:
        await asyncio.sleep(_WARM_UP_SECONDS)
        return {"games/s": await _rate(cluster, seconds)}


async def _events(referees: int, seconds: float) -> Figures:
    """Return the plies per second that reach two watchers of each game: one on each of two servers, or both on one."""
    settings: dict[str, Any] = {"variant": "mnk:30,30,30", "games_per_pair": 2, "concurrency": _WATCHED_GAMES}
    async with _league(referees, _BOTS, **settings) as cluster:
        watched = range(1, _WATCHED_GAMES + 1)
        async with (
            watch_tournament(cluster, "league", watched) as observers,
            _second_watchers(cluster, watched, referees) as others,
        ):
            await asyncio.sleep(1)
            observers = observers + others
            before, began = sum(observer.plies for observer in observers), time.perf_counter()
            await asyncio.sleep(seconds)
            events = sum(observer.plies for observer in observers) - before
            took = time.perf_counter() - began
            gaps = [gap for observer in observers for gap in observer.gaps]
            assert not gaps, gaps[:5]
    return {"events/s": events / took}


@asynccontextmanager
async def _second_watchers(cluster: Cluster, watched: range, referees: int) -> AsyncIterator[list[Observer]]:
    """Watch the games a second time if there is only one server."""
    if referees:
        yield []
    else:
        async with watch_tournament(cluster, "league", watched) as observers:
            yield observers


async def _bare_bus(seconds: float) -> Figures:
    """Return the number of messages that one process can send to another over NATS."""
    async with running_cluster(servers=0, referees=0) as cluster:
        counter = ForkedProcess(cluster.folder / "counter", _receive_all, cluster.nats.url)
        client = await nats.connect(cluster.nats.url)
        replies = await client.subscribe("counted")
        message, sent = bytes(_MESSAGE_BYTES), 0
        await client.flush()
        await replies.next_msg(timeout=20)
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            for _ in range(100):
                await client.publish("bare", message)
            sent += 100
            await client.flush()
        took = time.perf_counter() - began
        await client.close()
        counter.kill()
    return {"messages/s": sent / took}


def _receive_all(url: str) -> None:
    """Receive all messages of the bare bus, in a separate process."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))

    async def receive() -> None:
        client = await nats.connect(url)

        async def ignore(_: object) -> None:
            return

        await client.subscribe("bare", cb=ignore)
        await client.flush()
        await client.publish("counted", b"")
        await asyncio.Event().wait()

    run_loop(receive())


async def _microseconds_a_ply(referees: int, seconds: float) -> Figures:
    """Play one game at a time on a board with 100 cells, which nearly every game fills."""
    settings: dict[str, Any] = {"variant": "mnk:10,10,10", "games_per_pair": _ENDLESS, "concurrency": 1}
    async with _league(referees, _BOTS[:2], **settings) as cluster:
        await asyncio.sleep(_WARM_UP_SECONDS)
        rate = await _rate(cluster, seconds)
    return {"us/ply": 1e6 / (rate * 100)}


async def _sleeping(referees: int, seconds: float) -> Figures:
    with bot_file() as path:
        names = [f"engine{number}" for number in range(2)]
        offers = [word for name in names for word in ("--offers", f"{name}=py:{path}:Thinking")]
        options = ("--owner", "ada", "--seats", "2", *offers)
        settings: dict[str, Any] = {"games_per_pair": _ENDLESS, "time": {"move_us": 20_000_000}}
        async with _league(referees, names, options=options, remote=False, **settings) as cluster:
            await asyncio.sleep(4)
            return {"games/s": await _rate(cluster, 5 * seconds)}


Measure = Callable[[int, float], Coroutine[Any, Any, Figures]]
_PARTS: dict[str, tuple[Measure, tuple[int, ...]]] = {
    "rates": (_games, (0, 1, 2, 3)),
    "events": (_events, (0, 1, 2, 3)),
    "latency": (_microseconds_a_ply, (0, 1)),
    "sleeping": (_sleeping, (1, 2, 4, 8, 16)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*_PARTS, []], help="all of them unless named")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    for part in options.parts or _PARTS:
        measure, numbers = _PARTS[part]
        runs_by_name: defaultdict[str, list[Figures]] = defaultdict(list)
        for _ in range(options.rounds):
            for referees in numbers:
                name = f"{referees} referees" if referees else "a server alone"
                runs_by_name[name].append(asyncio.run(measure(referees, options.seconds)))
            if part == "rates":
                runs_by_name["a bare bus"].append(asyncio.run(_bare_bus(options.seconds / 2)))
        _print_table(part, runs_by_name)


def _print_table(part: str, runs_by_name: dict[str, list[Figures]]) -> None:
    table = Table("", "", "of the first", title=part)
    first: Figures = {}
    for name, runs in runs_by_name.items():
        for unit in runs[0]:
            median = statistics.median(run[unit] for run in runs)
            first.setdefault(unit, median)
            table.add_row(name, f"{median:,.1f} {unit}", f"{median / first[unit]:.2f}")
    _CONSOLE.print(table)


if __name__ == "__main__":
    main()
