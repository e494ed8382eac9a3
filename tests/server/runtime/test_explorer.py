"""A server counts the opening moves of its stored games by itself, and returns the counts."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from structlog.testing import capture_logs

from noughts_proto.v1 import leaderboards_pb2
from noughts_referee.rules import Result
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.explorer import exploring
from noughts_server.store.games.explorer import count_unexplored
from tests.support.arena import Arena, open_arena
from tests.support.client import Client, client_of, refusal_of
from tests.support.patience import PATIENCE

_MANY_GAMES = 2_000
"""Games that take many steps to count."""


async def opening_moves(client: Client, *moves: int) -> leaderboards_pb2.GetOpeningMovesResponse:
    return await client.leaderboards.GetOpeningMoves(leaderboards_pb2.GetOpeningMovesRequest(moves=moves))


async def opening_moves_when_counted(client: Client) -> leaderboards_pb2.GetOpeningMovesResponse:
    await wait_until(lambda: has_counted_all(client))
    return await opening_moves(client)


async def has_counted_all(client: Client) -> bool:
    return not (await opening_moves(client)).waiting


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(1_200):
        if await condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the condition did not hold within a minute")


async def store_games(path: Path, slug: str) -> int:
    """Store a tournament of 40 made-up games; return how many are not void."""
    async with open_arena(path) as arena:
        return await store_games_in(arena, slug)


async def store_games_in(arena: Arena, slug: str) -> int:
    """Do the same as `store_games` in an open store."""
    games = await arena.play(await arena.tournament(slug, games_per_pair=40))
    await arena.commit(games)
    return sum(game.result is not Result.VOID for game in games)


async def test_a_server_counts_what_is_stored_and_again_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    games = 0
    for slug in ("cup", "plate", "bowl"):
        games += await store_games(path, slug)
        async with client_of(path) as client:
            answer = await opening_moves_when_counted(client)
        assert sum(move.score.wins + move.score.draws + move.score.losses for move in answer.moves) == games
        # On the empty board the four corners are one move by symmetry.
        assert [list(move.cells) for move in answer.moves if 0 in move.cells] == [[0, 2, 6, 8]]
        assert list(answer.legal) == list(range(9))
        assert answer.rating_lists == ["tictactoe/untimed"]
        assert 3 <= len(answer.games) <= 10


async def is_all_counted(arena: Arena) -> bool:
    return not await arena.store.read(count_unexplored)


async def test_a_step_that_waited_for_the_database_delays_the_next_briefly(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    await store_games(path, "cup")
    async with open_arena(path) as arena:
        with closing(sqlite3.connect(path, isolation_level=None)) as other_writer:
            other_writer.execute("BEGIN IMMEDIATE")
            async with (
                asyncio.timeout(PATIENCE),
                running(exploring(arena.store, count_running=lambda: 1, leads=lambda: True)),
            ):
                # The step waits for the other writer. The next pause is a multiple of a step's time, but is limited.
                await asyncio.sleep(1)
                other_writer.execute("ROLLBACK")
                await wait_until(lambda: is_all_counted(arena))
                await store_games_in(arena, "plate")
                await wait_until(lambda: is_all_counted(arena))


async def test_tournament_whose_games_trickle_in_delays_no_other(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        busy = await arena.tournament("busy", games_per_pair=_MANY_GAMES)
        trickling = await arena.tournament("trickle", games_per_pair=_MANY_GAMES)
        trickling_games = await arena.play(trickling)
        await arena.commit(await arena.play(busy))
        async with running(exploring(arena.store, count_running=lambda: 0, leads=lambda: True)):
            for game in trickling_games:
                await arena.commit([game])
                ((counted_games,),) = arena.rows(f"SELECT explored FROM tournaments WHERE id = {busy.id}")
                if counted_games == _MANY_GAMES:
                    return
    raise AssertionError("the busy tournament waited until all games of the other were counted")


async def test_an_error_of_the_explorer_does_not_stop_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.sqlite"
    await store_games(path, "cup")
    monkeypatch.setattr("noughts_server.runtime.explorer.count_some", lambda connection, tournament_id: 1 // 0)
    with capture_logs() as logs:
        async with client_of(path) as client:

            async def failed() -> bool:
                return any(line["event"] == "explorer_failed" for line in logs)

            await wait_until(failed)
            assert (await opening_moves(client)).waiting


async def test_a_server_without_the_explorer_counts_nothing_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    await store_games(path, "cup")
    async with client_of(path, explorer=False) as client:
        refusal = await refusal_of(opening_moves(client))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
    assert refusal.status.message == "the opening explorer is off, expected on"
    async with open_arena(path) as arena:
        assert arena.rows("SELECT count(*) FROM explorer_moves") == [(0,)]


async def test_moves_that_are_not_legal_are_refused(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        refusal = await refusal_of(opening_moves(client, 4, 4))
    assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.fields() == ["moves"]
