"""Measure many referees of one cluster: does the database's writer lock limit them?

    python -m benchmarks.hundred [--referees 1 4 16 64 128] [--seconds 60] [--move-seconds 1] [--games 2]

Each referee is a task with its own connections to PostgreSQL and NATS. It is `running_referee`, which also is
`noughts referee`, with two bots inside the process that sleep before each move (a random time, `--move-seconds` on
average) and need no core. All referees play one rated tournament, whose games are journaled. One server runs as a
process. PostgreSQL flushes each commit to the disk, as in production. For each number of referees, a row has:

- `games/s` and its part of the ideal: all seats play without a pause;
- `commits/s` of all referees;
- `lock`, `lock p99`: how long a transaction waits for the writer lock, median and p99;
- `beat late`: p99 of the interval between two heartbeats, by the database's clock, minus 1 s;
- `beat`: p99 of the time that the database takes for a heartbeat;
- `dead`: how often a live referee was considered dead;
- `CPU/game`: processor time of PostgreSQL for each game.

Each number of referees takes `--seconds`, about as long to start and stop 128 referees, and the time of three games.
NATS and PostgreSQL come from the wheels of the tests and run on this machine.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, Engine, event  # noqa: TID251  # the time of its statements

from noughts_bots.connection.event_loop import run_loop
from noughts_referee.arbiter import Answers
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.game import Game
from noughts_referee.referee import Referee
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.referee_node import RefereeNode, RefereeSettings, running_referee
from noughts_server.store.engine.database import Store
from noughts_server.store.nodes import Beat
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner
from tests.chaos.child_processes import ForkedProcess
from tests.cluster.cluster import ORGANISER, Cluster, running_cluster
from tests.support.databases import POSTGRESQL, databases_of, rows_of, stopped_postgresql
from tests.support.postgresql import server

_PROCESSES = 4
"""The processes that the referees share."""
_SWITCH_SECONDS = 0.0005
_BOTS = ("sleeper1", "sleeper2")
_PLIES = 7
"""The plies of each game: both bots play the lowest free cell of 3x3."""
_MOST_OF_IDEAL = 2
"""The tournament has more games than can be played: this many times those of the ideal."""
_SPARE_SECONDS = 60
"""The time before and after a measurement."""
_REPORT_SECONDS = 60.0
_TIME = {"move_us": 60_000_000}
"""A limit that journals the games and that no bot exceeds on a slow machine."""
_POSTGRESQL = ("fsync=on", "full_page_writes=on", "max_connections=2000")
_START_SECONDS = 600.0
_POLL_SECONDS = 0.2
_CONSOLE = Console(width=120)


@dataclass
class Samples:
    """What the referees of a process have measured, with the time of each sample."""

    locks: list[tuple[float, float]] = field(default_factory=list)
    """Seconds of the wait for the writer lock."""
    commits: list[tuple[float, float]] = field(default_factory=list)
    beats: list[tuple[float, float]] = field(default_factory=list)
    """Seconds that the database took for a heartbeat."""
    intervals: list[tuple[float, float]] = field(default_factory=list)
    """Seconds between two heartbeats."""
    deaths: list[tuple[float, float]] = field(default_factory=list)

    def add(self, others: "Samples", begin: float, end: float) -> None:
        """Add the samples of another process that are of this period of `time.monotonic`."""

        def within(rows: list[tuple[float, float]]) -> list[tuple[float, float]]:
            return [row for row in rows if begin <= row[0] < end]

        self.locks += within(others.locks)
        self.commits += within(others.commits)
        self.beats += within(others.beats)
        self.intervals += within(others.intervals)
        self.deaths += within(others.deaths)

    def note_beat(self, beat: Beat, seconds: float) -> None:
        """Add a heartbeat."""
        now = time.monotonic()
        self.beats.append((now, seconds))
        self.intervals.append((now, beat.silent_ms / 1000))
        if beat.was_dead:
            self.deaths.append((now, 1.0))

    def measure_statements(self) -> None:
        """Add the waits for the writer lock, and the commits, of all stores of this process from now on."""

        def begin(connection: Connection, _: Any, statement: str, *rest: Any) -> None:
            if "pg_advisory_xact_lock" in statement:
                connection.info["asked"] = time.monotonic()

        def end(connection: Connection, _: Any, statement: str, *rest: Any) -> None:
            if "pg_advisory_xact_lock" in statement:
                now = time.monotonic()
                self.locks.append((now, now - connection.info["asked"]))

        event.listen(Engine, "before_cursor_execute", begin)
        event.listen(Engine, "after_cursor_execute", end)
        event.listen(Engine, "commit", lambda connection: self.commits.append((time.monotonic(), 1.0)))


class SleepingBot:
    """A connection to a bot in this process: it answers each question after a pause with the lowest free cell."""

    online = True

    def __init__(self, referee: Referee, player: ConnectedPlayer, seats: int, seconds: float) -> None:
        self.capacity_timed = self.capacity_untimed = seats
        self._referee = referee
        self._player = player
        self._seconds = seconds

    def wake(self) -> None:
        """Start a pause for each question."""
        outbox = self._player.take_outbox()
        loop = asyncio.get_running_loop()
        for handle, ply in zip(outbox.turn_game, outbox.turn_ply, strict=True):
            # The games of all referees begin at the same time. Random pauses keep them from ending together.
            pause = self._seconds * random.uniform(0.5, 1.5)
            loop.call_later(pause, self._answer, handle, ply)

    def _answer(self, handle: int, ply: int) -> None:
        game = self._player.games.get(handle)
        if game is not None and (game.ply, game.mover) == (ply, self._player):
            times = [round(1e6 * self._seconds)]
            complaints = self._referee.judge_answers(self._player, Answers([handle], [ply], [_free_cell(game)], times))
            assert not complaints, complaints


def _free_cell(game: Game) -> int:
    return next(cell for cell in range(9) if cell not in game.moves)


@dataclass(frozen=True)
class Options:
    """The part of the command's options that a process of referees needs."""

    seconds: float
    move_seconds: float
    games: int


def _play(folder: str, index: int, count: int, database: str, bus: str, bots: list[int], options: Options) -> None:
    """Run `count` referees until SIGTERM, in a process of its own. Then write the samples into a file."""
    # Real referees do not wait for each other's interpreter lock. A transaction would wait for it at each statement.
    sys.setswitchinterval(_SWITCH_SECONDS)
    samples = Samples()
    samples.measure_statements()
    settings = RefereeSettings(database=database, bus=BusSettings(bus), seats=options.games, owner=ORGANISER)

    async def play() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with AsyncExitStack() as stack:
            for _ in range(count):
                node = await stack.enter_async_context(running_referee(settings))
                node.membership.on_beat = samples.note_beat
                _install(node, bots, options)
            await stop.wait()
            await asyncio.to_thread(Path(folder, f"samples-{index}").write_text, json.dumps(asdict(samples)))
            os._exit(0)  # The games that run now do not count.

    run_loop(play())


def _install(node: RefereeNode, bots: list[int], options: Options) -> None:
    """Let the bots play on this referee, as bots of `--offers` do."""
    node.play.installed = bots
    for key in bots:
        player = node.referee.player(key)
        node.referee.connect(player, SleepingBot(node.referee, player, options.games, options.move_seconds))
    node.play.check_now()


async def _measure(referees: int, options: Options) -> dict[str, str]:
    """Play with this many referees, and return the figures by their column."""
    async with running_cluster(servers=1, referees=0) as cluster:
        keys = await _register_bots(cluster)
        shares = [referees // _PROCESSES + (index < referees % _PROCESSES) for index in range(_PROCESSES)]
        processes = [
            ForkedProcess(
                cluster.folder / f"referees-{index}", _play, str(cluster.folder), index, share,
                cluster.url, cluster.nats.url, keys, options,
            )
            for index, share in enumerate(shares) if share
        ]  # fmt: skip
        try:
            await _wait_for_nodes(cluster, referees + 1, processes)
            concurrency = referees * options.games
            ideal = concurrency / (_PLIES * options.move_seconds)
            await cluster.organise(
                "league",
                _BOTS,
                games_per_pair=_MOST_OF_IDEAL * round(ideal * (options.seconds + _SPARE_SECONDS)),
                time=_TIME,
                concurrency=concurrency,
                rated=True,
            )
            await asyncio.sleep(3 * _PLIES * options.move_seconds)  # the first claims
            games, cpu, begin = cluster.stored(), server().processor_seconds(), time.monotonic()
            await _show_progress(cluster, games, begin + options.seconds)
            games, cpu, end = cluster.stored() - games, server().processor_seconds() - cpu, time.monotonic()
            for process in processes:
                assert process.alive, process.last_line()
        finally:
            for process in processes:
                await asyncio.to_thread(process.stop)
        samples = Samples()
        for file in cluster.folder.glob("samples-*"):
            samples.add(Samples(**json.loads(file.read_text())), begin, end)
        await cluster.cancel("league")
    rate = games / (end - begin)
    return {
        "referees": f"{referees}",
        "games/s": f"{rate:.2f}",
        "of ideal": f"{rate / ideal:.1%}",
        "commits/s": f"{len(samples.commits) / (end - begin):.1f}",
        "lock": _milliseconds(_quantile(samples.locks, 0.5)),
        "lock p99": _milliseconds(_quantile(samples.locks, 0.99)),
        "beat late": _milliseconds(_quantile(samples.intervals, 0.99) - 1),
        "beat": _milliseconds(_quantile(samples.beats, 0.99)),
        "dead": f"{len(samples.deaths)}",
        "CPU/game": _milliseconds(cpu / max(1, games)),
    }


async def _show_progress(cluster: Cluster, games_before: int, end: float) -> None:
    """Print the games of each minute until this time, because a cluster can become slower with its games."""
    games = games_before
    while (left := end - time.monotonic()) > 0:
        await asyncio.sleep(min(left, _REPORT_SECONDS))
        stored = cluster.stored()
        print(f"{stored - games_before:,} games, {stored - games:,} since the last line", file=sys.stderr, flush=True)
        games = stored


async def _register_bots(cluster: Cluster) -> list[int]:
    store = await Store.open(cluster.url)

    def register(connection: Connection) -> list[int]:
        owner = create_owner(connection, ORGANISER)
        new = partial(log_in, connection, owner_id=owner, now_ms=store.now_ms())
        return [new(name=name).id for name in _BOTS]

    keys = await store.write(register)
    await store.close()
    return keys


async def _wait_for_nodes(cluster: Cluster, number: int, processes: Sequence[ForkedProcess]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while rows_of(cluster.database, "SELECT count(*) FROM nodes")[0][0] < number:
        assert all(process.alive for process in processes), [process.last_line() for process in processes]
        assert time.monotonic() < deadline
        await asyncio.sleep(_POLL_SECONDS)


def _quantile(rows: Sequence[tuple[float, float]], part: float) -> float:
    values = sorted(value for _, value in rows)
    if len(values) < 2:
        return values[0] if values else float("nan")
    return statistics.quantiles(values, n=1000, method="inclusive")[round(1000 * part) - 1]


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def _rows(numbers: Sequence[int], options: Options) -> Iterator[dict[str, str]]:
    for number in numbers:
        row = asyncio.run(_measure(number, options))
        _CONSOLE.print_json(data=row, indent=None)
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--referees", type=int, nargs="+", default=[1, 4, 16, 64, 128])
    parser.add_argument("--seconds", type=float, default=60.0, help="of each measurement")
    parser.add_argument("--move-seconds", type=float, default=1.0, help="pause before each move")
    parser.add_argument("--games", type=int, default=2, help="concurrent games of each referee")
    arguments = parser.parse_args()
    options = Options(seconds=arguments.seconds, move_seconds=arguments.move_seconds, games=arguments.games)
    with databases_of(POSTGRESQL):
        server().settings += _POSTGRESQL
        with stopped_postgresql() as start:
            start()
        rows = list(_rows(arguments.referees, options))
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*row.values())
    _CONSOLE.print(table)


if __name__ == "__main__":
    main()
