"""The counters of a server, scraped from a real one during a real tournament."""

import asyncio
import contextlib
import http.client
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import grpc
import grpc.aio
import pytest
from prometheus_client.parser import text_string_to_metric_families

from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.transport import CLIENT_OPTIONS
from noughts_proto.v1 import status_pb2, status_pb2_grpc, tournaments_pb2, tournaments_pb2_grpc
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.errors import AddressUnusable
from noughts_server.monitoring import prometheus
from noughts_server.monitoring.counters import Counters, Distribution
from noughts_server.runtime.bus import MemoryBus, listening
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.database import Connection
from noughts_server.store.games.results import CommitReport, TournamentProgress
from noughts_server.store.people.tokens import create_owner, create_token
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import NewTournament, create_tournament
from tests.support.patience import PATIENCE

if TYPE_CHECKING:
    from noughts_proto.v1.status_pb2_grpc import StatusServiceAsyncStub
    from noughts_proto.v1.tournaments_pb2_grpc import TournamentServiceAsyncStub

GAMES = 300

Samples = dict[tuple[str, tuple[str, ...]], float]


async def scraped(address: str) -> Samples:
    """Every sample by its name and its labels' values, read as Prometheus reads it."""

    def get() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE) as answer:
            text: str = answer.read().decode()
            return text

    families = text_string_to_metric_families(await asyncio.to_thread(get))
    return {(each.name, tuple(each.labels.values())): each.value for family in families for each in family.samples}


class Playing(NamedTuple):
    """A server where two bots are about to play a tournament of GAMES games."""

    server: Server
    status: Callable[[], Awaitable[status_pb2.GetStatusResponse]]
    metrics: Callable[[], Awaitable[Samples]]
    play: Callable[[], Awaitable[None]]


@pytest.fixture
async def playing(tmp_path: Path) -> AsyncIterator[Playing]:
    """See Playing."""
    settings = ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'noughts.db'}", metrics="127.0.0.1:0")
    async with running_server(settings) as server, asyncio.TaskGroup() as tasks:
        token = await server.store.write(partial(create_token, owner="ada", now_ms=server.store.now_ms()))
        news: asyncio.Queue[SessionEvent] = asyncio.Queue()
        bots = [
            tasks.create_task(play(Random(), Login(server.address, token.secret, name), news.put_nowait))
            for name in ("left", "right")
        ]
        for _ in bots:
            await news.get()

        def make(connection: Connection) -> None:
            now = server.store.now_ms()
            owner = create_owner(connection, "ada")
            new = NewTournament("cup", TournamentSettings(games_per_pair=GAMES, concurrency=8, seed=3))
            create_tournament(connection, new, owner_id=owner, now_ms=now)
            for name in ("left", "right"):
                join_tournament(connection, "cup", bot=name, owner_id=owner)

        await server.store.write(make)
        over = asyncio.Event()

        def committed(report: CommitReport) -> None:
            if any(progress.finished for progress in report.progress):
                over.set()

        server.bus.subscribe("games.committed", committed)

        async def play_cup() -> None:
            await server.director.start("cup")
            await over.wait()

        async with grpc.aio.insecure_channel(server.address, options=CLIENT_OPTIONS) as channel:
            stub: StatusServiceAsyncStub = status_pb2_grpc.StatusServiceStub(channel)

            async def status() -> status_pb2.GetStatusResponse:
                return await stub.GetStatus(status_pb2.GetStatusRequest(), timeout=PATIENCE)

            assert server.metrics_address is not None
            yield Playing(server, status, partial(scraped, server.metrics_address), play_cup)
        for bot in bots:
            bot.cancel()


async def test_scrape_during_a_match_counts_what_is_played(playing: Playing) -> None:
    before = await playing.metrics()
    assert before["noughts_games_total", ()] == 0
    assert before["noughts_bots_online", ()] == 2
    await playing.play()
    after = await playing.metrics()
    assert after["noughts_games_total", ()] == GAMES
    assert after["noughts_plies_total", ()] == playing.server.referee.plies >= GAMES * 5
    verdicts = {labels[0]: value for (name, labels), value in after.items() if name == "noughts_verdicts_total"}
    assert set(verdicts) <= {"line", "board_full"}
    assert sum(verdicts.values()) == GAMES
    assert after["noughts_commit_games_sum", ()] == GAMES
    assert after["noughts_commit_seconds_count", ()] == after["noughts_commit_games_count", ()] >= 1
    assert after["noughts_commit_seconds_bucket", ("+Inf",)] == after["noughts_commit_seconds_count", ()]
    assert 0 < after["noughts_commit_seconds_sum", ()] < 60
    assert after["noughts_recorder_backlog", ()] == after["noughts_games_in_flight", ()] == 0
    assert after["noughts_frames_total", ("down",)] > 0 < after["noughts_frames_total", ("up",)]
    assert after["noughts_database_bytes", ()] > 0
    assert after["process_cpu_seconds_total", ()] > 0


async def test_refused_calls_are_counted_by_their_reason(playing: Playing) -> None:
    async with grpc.aio.insecure_channel(playing.server.address, options=CLIENT_OPTIONS) as channel:
        stub: TournamentServiceAsyncStub = tournaments_pb2_grpc.TournamentServiceStub(channel)
        for _ in range(3):
            with pytest.raises(grpc.aio.AioRpcError):
                await stub.GetTournament(tournaments_pb2.GetTournamentRequest(name="tournaments/nowhere"))
    assert (await playing.metrics())["noughts_errors_total", ("NOT_FOUND",)] == 3


async def test_status_tells_the_same_as_the_metrics(playing: Playing) -> None:
    await playing.play()
    status, metrics = await playing.status(), await playing.metrics()
    assert (status.games, status.plies) == (GAMES, metrics["noughts_plies_total", ()])
    assert (status.bots_online, status.games_in_flight, status.slots_queued) == (2, 0, 0)
    assert [bot.bot_version for bot in status.bots] == ["bots/left/versions/1", "bots/right/versions/1"]
    assert status.address == playing.server.address
    assert not status.draining
    assert status.games_per_second > 0 < status.plies_per_second
    assert status.commit_seconds > 0
    assert list(status.tournaments) == []
    await playing.server.drain()
    assert (await playing.status()).draining


async def test_metrics_are_off_unless_asked_for(tmp_path: Path) -> None:
    async with running_server(ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'noughts.db'}")) as server:
        assert server.metrics_address is None


async def test_port_of_the_metrics_that_is_taken_is_named_with_its_option(playing: Playing, tmp_path: Path) -> None:
    taken = playing.server.metrics_address
    settings = ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'other.db'}", metrics=taken)
    with pytest.raises(AddressUnusable, match=str(taken)) as caught:
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


async def test_held_up_loop_shows_as_lag(playing: Playing) -> None:
    import time

    time.sleep(0.5)  # noqa: ASYNC251  # the very thing to be seen
    lag = playing.server.counters.lag
    seen = sum(lag.counts)
    while sum(lag.counts) == seen:  # noqa: ASYNC110  # the timer's own tick
        await asyncio.sleep(0.01)
    assert 0.3 < lag.worst < 5


async def test_rate_of_a_tournament_is_forgotten_when_it_is_over() -> None:
    class Referee:
        plies = 0

    bus = MemoryBus()
    counters = Counters(Referee(), bus)  # type: ignore[arg-type]  # it reads nothing else
    async with counters.measuring():
        bus.publish("games.committed", CommitReport(progress=[TournamentProgress(1, "tournaments/a", 5, 9, False)]))
        assert counters.tournament_rate(1) == 0
        bus.publish("games.committed", CommitReport(progress=[TournamentProgress(1, "tournaments/a", 9, 9, True)]))
    assert counters.tournament_rate(1) == counters.tournament_rate(2) == 0
    assert counters._progress == {}


async def test_the_rate_of_a_tournament_without_games_falls_to_nothing() -> None:
    class Referee:
        plies = 0

    def done(tournament: int, games: int) -> None:
        progress = TournamentProgress(tournament, f"tournaments/{tournament}", games, 10_000, False)
        bus.publish("games.committed", CommitReport(progress=[progress]))

    now, bus = 1_000.0, MemoryBus()
    counters = Counters(Referee(), bus, clock=lambda: now)  # type: ignore[arg-type]  # it reads nothing else
    with listening(bus, "games.committed", counters._committed):
        done(1, 0)
        now += 10
        done(1, 1_000)
        assert counters.tournament_rate(1) == 100
        now += 30
        assert counters.tournament_rate(1) == 25
        now += 60
        assert counters.tournament_rate(1) == 0
        # A long idle time is not counted after a tournament continues.
        done(1, 1_200)
        assert counters.tournament_rate(1) == 0
        now += 10
        done(1, 1_300)
        assert counters.tournament_rate(1) == 10
        # The first was cancelled, of which nothing is heard.
        now += 61
        done(2, 1)
        assert list(counters._progress) == [2]


async def test_callers_who_say_nothing_do_not_keep_others_from_reading(playing: Playing) -> None:
    address = playing.server.metrics_address
    assert address is not None
    host, _, port = address.rpartition(":")
    silent = [await asyncio.open_connection(host, int(port)) for _ in range(50)]
    assert await silent[-1][0].read() == b""  # only eight are waited for
    for _, writer in silent:
        writer.close()
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                await playing.metrics()
                return
            await asyncio.sleep(0.05)


async def test_callers_who_say_little_at_a_time_do_not_either(
    playing: Playing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "_SCRAPE_SECONDS", 1.0)
    address = playing.server.metrics_address
    assert address is not None
    host, _, port = address.rpartition(":")
    slow = [await asyncio.open_connection(host, int(port)) for _ in range(8)]

    async def drip(writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"G")
                await writer.drain()
                await asyncio.sleep(0.2)

    async with asyncio.TaskGroup() as tasks:
        drips = [tasks.create_task(drip(writer)) for _, writer in slow]
        async with asyncio.timeout(PATIENCE):  # without a limit they stay for ever
            for reader, _ in slow:
                with contextlib.suppress(ConnectionError):
                    assert await reader.read(1) == b""
        assert (await playing.metrics())["noughts_bots_online", ()] == 2
        for each in drips:
            each.cancel()
    for _, writer in slow:
        writer.close()
