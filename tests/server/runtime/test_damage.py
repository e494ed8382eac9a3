"""A damaged page of the database stops only the tournament whose games it holds, with a reason."""

import asyncio
from pathlib import Path

import grpc.aio
from structlog.testing import capture_logs

from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_proto.v1 import status_pb2, status_pb2_grpc
from noughts_referee.work_units import FinishedGame
from noughts_server.core.errors import DatabaseDamaged
from noughts_server.runtime.recorder import Recorder
from noughts_server.runtime.sessions import Ticket
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.games.results import CommitReport
from tests.support.arena import open_arena
from tests.support.damage import damage_last_games
from tests.support.patience import PATIENCE

GAMES, STORED = 600, 500


async def make_damaged_database(path: Path) -> tuple[int, int, list[FinishedGame]]:
    """Make a database with an intact and a damaged tournament; return their ids and the missing games of both."""
    async with open_arena(path) as arena:
        intact = await arena.tournament("sound", games_per_pair=20)
        damaged_one = await arena.tournament("hurt", games_per_pair=GAMES)
        games = await arena.play(damaged_one)
        await arena.commit(games[:STORED])
        missing = await arena.play(intact) + games[STORED:]
    damage_last_games(path)
    return intact.id, damaged_one.id, missing


async def test_games_of_intact_tournaments_are_stored_and_damage_is_reported(tmp_path: Path) -> None:
    intact, damaged_one, games = await make_damaged_database(tmp_path / "noughts.db")
    reports: list[CommitReport] = []
    damage_reports: list[tuple[int, DatabaseDamaged]] = []
    async with open_arena(tmp_path / "noughts.db") as arena, asyncio.TaskGroup() as tasks:
        recorder = Recorder(arena.store, reports.append, on_damage=lambda *found: damage_reports.append(found))
        tasks.create_task(recorder.run())
        recorder.record(games)
        await recorder.flush()
        assert [tournament for tournament, _ in damage_reports] == [damaged_one]
        assert {game.tournament for report in reports for game in report.games} == {intact}
        assert recorder.backlog == 0
        assert arena.rows(f"SELECT count(*), max(ordinal) FROM games WHERE tournament_id = {intact}") == [(20, 20)]
        await recorder.close()


async def test_server_plays_the_other_tournament_to_its_end(tmp_path: Path) -> None:
    await make_damaged_database(tmp_path / "noughts.db")
    settings = ServerSettings(listen="127.0.0.1:0", database=f"sqlite:///{tmp_path / 'noughts.db'}")
    with capture_logs() as logs:
        async with running_server(settings) as server, asyncio.TaskGroup() as tasks:
            bots = [
                tasks.create_task(
                    play(
                        make_bot(parse_spec("random")),
                        Login(server.address, server.sessions.issue_ticket(Ticket(1, name)), name),
                    )
                )
                for name in ("ada", "bob")
            ]
            async with asyncio.timeout(PATIENCE):
                while server.counters.games < 20:  # noqa: ASYNC110  # nothing tells when
                    await asyncio.sleep(0.02)
            async with grpc.aio.insecure_channel(server.address) as channel:
                status = await status_pb2_grpc.StatusServiceStub(channel).GetStatus(status_pb2.GetStatusRequest())
            for bot in bots:
                bot.cancel()
    assert [(tournament.name, tournament.problem) for tournament in status.tournaments] == [
        ("tournaments/hurt", "part of the database is damaged")
    ]
    assert status.database_trouble == ""
    (stopped,) = (entry for entry in logs if entry["event"] == "tournament_stopped")
    assert (stopped["tournament"], stopped["reason"]) == ("tournaments/hurt", "DATABASE_DAMAGED")
    assert "noughts db check" in stopped["hint"]
