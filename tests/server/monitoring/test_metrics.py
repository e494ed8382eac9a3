"""The counters of a server, scraped from a real one during a real tournament."""

import asyncio
import contextlib
import http.client
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import grpc
import grpc.aio
import pytest

from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.transport import CLIENT_OPTIONS
from noughts_proto.v1 import status_pb2, status_pb2_grpc, tournaments_pb2, tournaments_pb2_grpc
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.errors import AddressUnusable
from noughts_server.monitoring import prometheus
from noughts_server.monitoring.counters import Counters, Distribution
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine import database
from noughts_server.store.engine.database import Connection
from noughts_server.store.games.results import CommitReport, TournamentProgress
from noughts_server.store.people.tokens import create_owner, create_token
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import NewTournament, create_tournament
from tests.support.loopback import wait_until
from tests.support.metrics import Samples, health, scrape
from tests.support.patience import PATIENCE

if TYPE_CHECKING:
    from noughts_proto.v1.status_pb2_grpc import StatusServiceAsyncStub
    from noughts_proto.v1.tournaments_pb2_grpc import TournamentServiceAsyncStub

GAMES = 300


class CupServer(NamedTuple):
    """A server with a tournament of GAMES games of two bots, which `play_cup` starts and awaits."""

    server: Server
    status: Callable[[], Awaitable[status_pb2.GetStatusResponse]]
    metrics: Callable[[], Awaitable[Samples]]
    play_cup: Callable[[], Awaitable[None]]


@pytest.fixture
async def cup_server(tmp_path: Path) -> AsyncIterator[CupServer]:
    settings = ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'noughts.db'}", metrics="127.0.0.1:0")
    async with running_server(settings) as server, asyncio.TaskGroup() as tasks:
        token = await server.store.write(partial(create_token, owner="ada", now_ms=server.store.now_ms()))
        events: asyncio.Queue[SessionEvent] = asyncio.Queue()
        bots = [
            tasks.create_task(play(Random(), Login(server.address, token.secret, name), events.put_nowait))
            for name in ("left", "right")
        ]
        for _ in bots:
            await events.get()

        def create_cup(connection: Connection) -> None:
            now = server.store.now_ms()
            owner = create_owner(connection, "ada")
            new = NewTournament("cup", TournamentSettings(games_per_pair=GAMES, concurrency=8, seed=3))
            create_tournament(connection, new, owner_id=owner, now_ms=now)
            for name in ("left", "right"):
                join_tournament(connection, "cup", bot=name, owner_id=owner)

        await server.store.write(create_cup)
        finished = asyncio.Event()

        def on_commit(report: CommitReport) -> None:
            if any(progress.finished for progress in report.progress):
                finished.set()

        server.bus.subscribe("games.committed", on_commit)

        async def play_cup() -> None:
            await server.director.start("cup")
            await finished.wait()

        async with grpc.aio.insecure_channel(server.address, options=CLIENT_OPTIONS) as channel:
            stub: StatusServiceAsyncStub = status_pb2_grpc.StatusServiceStub(channel)

            async def status() -> status_pb2.GetStatusResponse:
                return await stub.GetStatus(status_pb2.GetStatusRequest(), timeout=PATIENCE)

            assert server.metrics_address is not None
            yield CupServer(server, status, partial(scrape, server.metrics_address), play_cup)
        for bot in bots:
            bot.cancel()


async def test_scrape_counts_the_games_of_a_tournament(cup_server: CupServer) -> None:
    before = await cup_server.metrics()
    assert before["noughts_games_total", ()] == 0
    assert before["noughts_bots_online", ()] == 2
    await cup_server.play_cup()
    after = await cup_server.metrics()
    assert after["noughts_games_total", ()] == GAMES
    assert after["noughts_plies_total", ()] == cup_server.server.referee.plies >= GAMES * 5
    verdicts = {labels[0]: value for (name, labels), value in after.items() if name == "noughts_verdicts_total"}
    assert set(verdicts) <= {"line", "board_full"}
    assert sum(verdicts.values()) == GAMES
    assert after["noughts_commit_games_sum", ()] == GAMES
    assert after["noughts_commit_seconds_count", ()] == after["noughts_commit_games_count", ()] >= 1
    assert after["noughts_commit_seconds_bucket", ("+Inf",)] == after["noughts_commit_seconds_count", ()]
    assert 0 < after["noughts_commit_seconds_sum", ()] < 60
    assert after["noughts_recorder_backlog", ()] == after["noughts_games_in_flight", ()] == 0
    assert after["noughts_frames_total", ("down",)] > 0
    assert after["noughts_frames_total", ("up",)] > 0
    assert after["noughts_database_bytes", ()] > 0
    assert after["process_cpu_seconds_total", ()] > 0


async def test_refused_calls_are_counted_by_their_reason(cup_server: CupServer) -> None:
    async with grpc.aio.insecure_channel(cup_server.server.address, options=CLIENT_OPTIONS) as channel:
        stub: TournamentServiceAsyncStub = tournaments_pb2_grpc.TournamentServiceStub(channel)
        for _ in range(3):
            with pytest.raises(grpc.aio.AioRpcError):
                await stub.GetTournament(tournaments_pb2.GetTournamentRequest(name="tournaments/nowhere"))
    assert (await cup_server.metrics())["noughts_errors_total", ("NOT_FOUND",)] == 3


async def test_status_agrees_with_the_metrics(cup_server: CupServer) -> None:
    await cup_server.play_cup()
    status, metrics = await cup_server.status(), await cup_server.metrics()
    assert (status.games, status.plies) == (GAMES, metrics["noughts_plies_total", ()])
    assert (status.bots_online, status.games_in_flight, status.slots_queued) == (2, 0, 0)
    assert [bot.bot_version for bot in status.bots] == ["bots/left/versions/1", "bots/right/versions/1"]
    assert status.address == cup_server.server.address
    assert not status.draining
    assert status.games_per_second > 0
    assert status.plies_per_second > 0
    assert status.commit_seconds > 0
    assert list(status.tournaments) == []
    await cup_server.server.drain()
    assert (await cup_server.status()).draining


async def test_health_says_why_a_server_cannot_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    path = tmp_path / "noughts.db"
    settings = ServerSettings("127.0.0.1:0", f"sqlite:///{path}", metrics="127.0.0.1:0")
    async with running_server(settings) as server, asyncio.TaskGroup() as tasks:
        address = server.metrics_address
        assert address is not None
        assert await health(address) == (200, "ok\n")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            tasks.create_task(server.store.try_to_write())
            await wait_until(lambda: server.store.outage is not None)
            assert await health(address) == (503, "another process has locked it\n")


async def test_metrics_are_off_by_default(tmp_path: Path) -> None:
    async with running_server(ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'noughts.db'}")) as server:
        assert server.metrics_address is None


async def test_error_of_a_port_in_use_names_the_option_of_the_metrics(cup_server: CupServer, tmp_path: Path) -> None:
    used_address = cup_server.server.metrics_address
    settings = ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'other.db'}", metrics=used_address)
    with pytest.raises(AddressUnusable, match=str(used_address)) as caught:
        async with running_server(settings):
            pass
    assert "--metrics" in caught.value.hint


def test_distribution_counts_a_value_in_the_first_bucket_that_holds_it() -> None:
    values = Distribution((1, 10))
    for value in (0, 1, 2, 10, 11):
        values.observe(value)
    assert values.counts == [2, 2, 1]
    assert values.total == 24
    assert values.worst == 11


async def test_blocked_event_loop_shows_as_lag(cup_server: CupServer) -> None:
    import time

    time.sleep(0.5)  # noqa: ASYNC251  # blocks the event loop on purpose
    lag = cup_server.server.counters.lag
    observations = sum(lag.counts)
    while sum(lag.counts) == observations:  # noqa: ASYNC110  # a timer observes the lag, and sets no event
        await asyncio.sleep(0.01)
    assert 0.3 < lag.worst < 5


class IdleReferee:
    """The only value of a referee that the counters read."""

    plies = 0


def report_of(tournament: int, games_done: int, games_total: int = 10_000) -> CommitReport:
    """Return the report of a commit after which the tournament has this number of games."""
    progress = TournamentProgress(
        tournament=tournament,
        name=f"tournaments/{tournament}",
        games_done=games_done,
        games_total=games_total,
        finished=games_done == games_total,
    )
    return CommitReport(progress=[progress])


async def test_rate_of_a_finished_tournament_is_forgotten() -> None:
    counters = Counters(IdleReferee())  # type: ignore[arg-type]
    async with counters.measuring():
        counters.count_commit(report_of(1, 5, 9))
        assert counters.tournament_rate(1) == 0
        counters.count_commit(report_of(1, 9, 9))
    assert counters.tournament_rate(1) == counters.tournament_rate(2) == 0
    assert counters._progress == {}


async def test_rate_of_a_tournament_without_new_games_falls_to_zero() -> None:
    def commit(tournament: int, games_done: int) -> None:
        counters.count_commit(report_of(tournament, games_done))

    now = 1_000.0
    counters = Counters(IdleReferee(), clock=lambda: now)  # type: ignore[arg-type]
    commit(1, 0)
    now += 10
    commit(1, 1_000)
    assert counters.tournament_rate(1) == 100
    now += 30
    assert counters.tournament_rate(1) == 25
    now += 60
    assert counters.tournament_rate(1) == 0
    # A long idle time is not counted after a tournament continues.
    commit(1, 1_200)
    assert counters.tournament_rate(1) == 0
    now += 10
    commit(1, 1_300)
    assert counters.tournament_rate(1) == 10
    # A tournament without commits for a minute, such as a cancelled one, is forgotten.
    now += 61
    commit(2, 1)
    assert list(counters._progress) == [2]


async def test_silent_connections_do_not_keep_others_from_scraping(cup_server: CupServer) -> None:
    address = cup_server.server.metrics_address
    assert address is not None
    host, _, port = address.rpartition(":")
    connections = [await asyncio.open_connection(host, int(port)) for _ in range(50)]
    assert await connections[-1][0].read() == b""  # the server waits for eight, and closes the others
    for _, writer in connections:
        writer.close()
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                await cup_server.metrics()
                return
            await asyncio.sleep(0.05)


async def test_connections_that_send_slowly_are_closed(cup_server: CupServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "_SCRAPE_SECONDS", 1.0)
    address = cup_server.server.metrics_address
    assert address is not None
    host, _, port = address.rpartition(":")
    connections = [await asyncio.open_connection(host, int(port)) for _ in range(8)]

    async def send_slowly(writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"G")
                await writer.drain()
                await asyncio.sleep(0.2)

    async with asyncio.TaskGroup() as tasks:
        senders = [tasks.create_task(send_slowly(writer)) for _, writer in connections]
        async with asyncio.timeout(PATIENCE):  # without a time limit the server would never close them
            for reader, _ in connections:
                with contextlib.suppress(ConnectionError):
                    assert await reader.read(1) == b""
        assert (await cup_server.metrics())["noughts_bots_online", ()] == 2
        for sender in senders:
            sender.cancel()
    for _, writer in connections:
        writer.close()
