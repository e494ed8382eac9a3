"""A tournament that cannot be played stops with a stored reason, and the server retries it after growing delays."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import grpc.aio
from structlog.testing import capture_logs

from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_proto.v1 import status_pb2, status_pb2_grpc, tournaments_pb2_grpc
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.runtime.sessions import Ticket
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament
from tests.support.arena import open_arena
from tests.support.databases import change, rows_of, url_of
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE

INSERT_WEBHOOK = (
    "INSERT INTO webhooks (owner_id, url, format, secret, events, created_at, tried_at, failures, dropped)"
    " VALUES (1, 'http://127.0.0.1:1', 'json', 's', 'tournament.stopped tournament.resumed', 0, 0, 0, 0)"
)


async def cup_when(server: Server, condition: Callable[[Tournament], bool]) -> Tournament:
    """Wait until the condition holds for the tournament `cup`, and return it."""
    async with asyncio.timeout(PATIENCE):
        while not condition(tournament := await server.store.read(partial(get_tournament, slug="cup"))):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return tournament


async def test_tournament_of_an_unknown_variant_resumes_when_it_is_known(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    async with open_arena(path) as arena:
        await arena.tournament(games_per_pair=20)
    change(path, INSERT_WEBHOOK)
    with capture_logs() as logs:
        async with running_server(ServerSettings(listen="127.0.0.1:0", database=url_of(path))) as server:
            assert server.play is not None
            server.play.first_retry_seconds = 0.1
            await server.director.pause("cup")
            change(path, "UPDATE tournaments SET variant = 'unheard-of'")
            await server.director.start("cup")
            stopped = await cup_when(server, lambda found: bool(found.reason))
            assert "unheard-of" in stopped.reason
            assert stopped.retry_at is not None
            await wait_until(lambda: sum(entry["event"] == "tournament_stopped" for entry in logs) >= 3)
            change(path, "UPDATE tournaments SET variant = 'tictactoe'")
            async with asyncio.TaskGroup() as tasks:
                bots = [tasks.create_task(_play(server, name)) for name in ("ada", "bob")]
                found = await cup_when(server, lambda found: found.ended)
                for bot in bots:
                    bot.cancel()
    assert (found.games_done, found.reason, found.retry_at) == (20, "", None)
    delays = [entry["retry_seconds"] for entry in logs if entry["event"] == "tournament_stopped"]
    assert delays[:3] == [0.1, 0.2, 0.4]
    webhook_events = [event for (event,) in rows_of(path, "SELECT event FROM outbox ORDER BY id")]
    assert webhook_events == ["tournament.stopped", "tournament.resumed"]


async def test_reason_that_is_not_stored_yet_is_in_all_answers(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    async with open_arena(path) as arena:
        await arena.tournament()
    async with running_server(ServerSettings(listen="127.0.0.1:0", database=url_of(path))) as server:
        assert server.play is not None
        server.play.first_retry_seconds = 600.0
        change(path, "UPDATE tournaments SET variant = 'unheard-of'")
        await server.director.pause("cup")
        await server.director.start("cup")
        await cup_when(server, lambda found: bool(found.reason))
        change(path, "UPDATE tournaments SET reason = NULL, retry_at = NULL")  # as before the reason was stored
        async with grpc.aio.insecure_channel(server.address) as channel:
            tournaments = tournaments_pb2_grpc.TournamentServiceStub(channel)
            status = await status_pb2_grpc.StatusServiceStub(channel).GetStatus(status_pb2.GetStatusRequest())
            reason = status.tournaments[0].problem
            answer = await tournaments.GetTournament(pb.GetTournamentRequest(name="tournaments/cup"))
            list_answer = await tournaments.ListTournaments(pb.ListTournamentsRequest())
    assert "unheard-of" in reason
    assert [answer.tournament.reason, list_answer.tournaments[0].reason] == [reason, reason]


async def test_running_tournament_says_that_its_results_cannot_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    async with open_arena(path) as arena:
        await arena.tournament(games_per_pair=100_000)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        async with (
            running_server(ServerSettings(listen="127.0.0.1:0", database=url_of(path))) as server,
            asyncio.TaskGroup() as tasks,
            grpc.aio.insecure_channel(server.address) as channel,
        ):
            bots = [tasks.create_task(_play(server, name)) for name in ("ada", "bob")]
            await cup_when(server, lambda found: found.games_done > 0)
            other.execute("BEGIN IMMEDIATE")  # now nothing can be stored
            await wait_until(lambda: server.store.outage is not None)
            tournaments = tournaments_pb2_grpc.TournamentServiceStub(channel)
            answer = await tournaments.GetTournament(pb.GetTournamentRequest(name="tournaments/cup"))
            status = await status_pb2_grpc.StatusServiceStub(channel).GetStatus(status_pb2.GetStatusRequest())
            other.execute("ROLLBACK")
            await wait_until(lambda: server.store.outage is None)
            answer_afterwards = await tournaments.GetTournament(pb.GetTournamentRequest(name="tournaments/cup"))
            for bot in bots:
                bot.cancel()
    reason = "no result can be stored in the database, because another process has locked it. Fix: "
    assert answer.tournament.reason.startswith(reason)
    assert status.tournaments[0].problem == answer.tournament.reason
    assert answer_afterwards.tournament.reason == ""


async def _play(server: Server, name: str) -> None:
    ticket = server.sessions.issue_ticket(Ticket(1, name))
    await play(make_bot(parse_spec("random")), Login(server.address, ticket, name))
