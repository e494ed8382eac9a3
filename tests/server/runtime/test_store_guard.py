"""While its database is unusable, a server keeps finished games, reports the problem, and then resumes."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import capture_logs

from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.errors import DatabaseBusy, DatabaseGone
from noughts_server.local.tournament import LocalTournament
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine import database
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.tournaments.tournaments import get_tournament
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE


async def health(server: Server) -> int:
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)  # its published types know no methods
        answer = await stub.Check(health_pb2.HealthCheckRequest())
    return int(answer.status)


@asynccontextmanager
async def server_with_running_games(path: Path, games: int, **settings: float) -> AsyncIterator[tuple[Server, str]]:
    """A server at which two bots play a tournament of `games` games; also the tournament's slug."""
    server_settings = ServerSettings(listen="127.0.0.1:0", database=f"sqlite:///{path}", **settings)  # type: ignore[arg-type]
    async with running_server(server_settings) as server:
        bots = {"left": "random", "right": "first-free"}
        tournament_settings = TournamentSettings(games_per_pair=games, concurrency=8, seed=1, title="left - right")
        tournament = LocalTournament(server, tournament_settings, dict.fromkeys(bots, "1"))
        await tournament.create()
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(
                    play(make_bot(parse_spec(spec)), Login(server.address, tournament.ticket(name), name))
                )
                for name, spec in bots.items()
            ]
            await tournament.all_online(lambda: None)
            await server.director.start(tournament.slug)
            await wait_until(lambda: server.counters.games > 0)
            try:
                yield server, tournament.slug
            finally:
                for task in running:
                    task.cancel()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store waits for a shorter time for another process, and tries again sooner."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(database, "_LONGEST_RETRY_SECONDS", 0.2)


async def test_games_wait_while_another_process_holds_the_database(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    with capture_logs() as logs, closing(sqlite3.connect(path, isolation_level=None)) as other:
        async with server_with_running_games(path, 50_000) as (server, slug):
            other.execute("BEGIN IMMEDIATE")
            await wait_until(lambda: server.store.outage is not None and server.referee.count_running() == 0)
            backlog = server.recorder.backlog
            assert server.referee.count_queued() > 0
            assert await health(server) == health_pb2.HealthCheckResponse.NOT_SERVING
            with pytest.raises(DatabaseBusy):
                await server.store.write(partial(create_owner, name="refused"))
            for call in (server.director.pause, server.director.cancel):
                with pytest.raises(DatabaseBusy):
                    await call(slug)
            assert server.recorder.backlog == backlog
            other.execute("ROLLBACK")
            stored = server.counters.games
            await wait_until(lambda: server.counters.games > stored + backlog + 1000)
            await wait_until(lambda: server.store.outage is None)
            await wait_until(lambda: server.referee.count_running() > 0)
            assert await health(server) == health_pb2.HealthCheckResponse.SERVING
            await server.director.cancel(slug)
            tournament = await server.store.read(lambda connection: get_tournament(connection, slug))
            assert tournament.state is TournamentState.CANCELLED
    database_events = [
        entry["event"] for entry in logs if entry["event"] in ("database_unavailable", "database_available")
    ]
    assert database_events == ["database_unavailable", "database_available"]


@contextmanager
def hold_write_lock(path: Path) -> Iterator[None]:
    """Lock the database as another process does that writes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def hold_read_lock(path: Path) -> Iterator[None]:
    """Start a process that holds a read lock on a file of the database, as any reader can."""
    program = "import fcntl, sys; file = open(sys.argv[1], 'rb'); fcntl.lockf(file, fcntl.LOCK_SH); print(flush=True)"
    command = (sys.executable, "-c", f"{program}; input()", f"{path}-shm")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            yield
        finally:
            other.kill()


@pytest.mark.processes
@pytest.mark.parametrize("hold", [hold_write_lock, hold_read_lock])
async def test_server_ends_within_its_patience_while_the_database_is_held(
    tmp_path: Path, hold: Callable[[Path], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "noughts.db"

    async def end(locks: ExitStack) -> None:
        async with server_with_running_games(path, 1_000_000, store_wait_seconds=0.3) as (server, _):
            locks.enter_context(hold(path))
            await wait_until(lambda: server.recorder.backlog > 0 and server.store.outage is not None)
            async with asyncio.timeout(PATIENCE):
                await server.drain()

    with ExitStack() as locks, capture_logs() as logs, pytest.raises(DatabaseBusy):
        await end(locks)
    (event,) = (entry for entry in logs if entry["event"] == "games_not_stored")
    assert event["games"] > 0


def replace_file(file: str) -> None:
    shutil.copyfile(file, f"{file}.other")
    os.replace(f"{file}.other", file)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("remove, problem", [(os.unlink, "deleted or moved"), (replace_file, "replaced")])
async def test_server_whose_files_are_taken_away_ends_and_says_so(
    tmp_path: Path, suffix: str, remove: Callable[[str], None], problem: str
) -> None:
    async def end() -> None:
        async with server_with_running_games(tmp_path / "noughts.db", 1_000_000):
            remove(f"{tmp_path / 'noughts.db'}{suffix}")
            await asyncio.sleep(PATIENCE)

    name = {"": "its file", "-wal": "its write-ahead log", "-shm": "the index of its log"}[suffix]
    with pytest.raises(DatabaseGone, match=f"{name} was {problem} while it was open"):
        await end()
