"""A server counts the openings of its games by itself, and answers what was played."""

import asyncio
from pathlib import Path

import grpc

from noughts_proto.v1 import leaderboards_pb2
from noughts_referee.rules import Result
from tests.support.arena import open_arena
from tests.support.client import Client, client_of, refused


async def openings(client: Client, *moves: int) -> leaderboards_pb2.GetOpeningMovesResponse:
    return await client.leaderboards.GetOpeningMoves(leaderboards_pb2.GetOpeningMovesRequest(moves=moves))


async def counted(client: Client) -> leaderboards_pb2.GetOpeningMovesResponse:
    for _ in range(1_200):
        if not (answer := await openings(client)).waiting:
            return answer
        await asyncio.sleep(0.05)
    raise AssertionError("not all games were counted within a minute")


async def play(path: Path, slug: str) -> int:
    """Store a tournament of 40 made-up games; return how many are not void."""
    async with open_arena(path) as arena:
        games = await arena.play(await arena.tournament(slug, games_per_pair=40))
        await arena.commit(games)
    return sum(game.result is not Result.VOID for game in games)


async def test_a_server_counts_what_is_stored_and_again_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    games = await play(path, "cup")
    for slug in ("plate", "bowl"):
        async with client_of(path) as client:
            answer = await counted(client)
        assert sum(move.score.wins + move.score.draws + move.score.losses for move in answer.moves) == games
        assert [list(move.cells) for move in answer.moves if 0 in move.cells] == [[0, 2, 6, 8]]
        assert list(answer.legal) == list(range(9))
        assert answer.rating_lists == ["tictactoe/untimed"]
        assert 3 <= len(answer.games) <= 10
        games += await play(path, slug)


async def test_a_server_without_the_explorer_counts_nothing_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    await play(path, "cup")
    async with client_of(path, explorer=False) as client:
        refusal = await refused(openings(client))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
    assert refusal.status.message == "the opening explorer is off, expected on"
    async with open_arena(path) as arena:
        assert arena.rows("SELECT count(*) FROM explorer_moves") == [(0,)]


async def test_moves_that_are_not_legal_are_refused(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        refusal = await refused(openings(client, 4, 4))
    assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.fields() == ["moves"]
