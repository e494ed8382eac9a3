"""Comments of bots: from the SDK over gRPC to the record of the game, if its tournament keeps them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import pytest

from noughts_bots import Bot, Move, Position, Resign
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.comments import unpack_comments
from noughts_referee.rules import Termination
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, loopback, raw_bot

from .test_scores import games_of


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback() as server:
        yield server


def words(position: Position) -> str:
    return f"ply {position.ply}: \N{GREEK SMALL LETTER PI}\0\n"


class Commenting(Bot):
    """Comments on every other of its moves."""

    def choose(self, position: Position) -> Move:
        return Move(position.free[0], comment=words(position) if position.ply & 2 else "")


class AsyncCommenting(Bot):
    async def choose(self, position: Position) -> Move:
        return Commenting().choose(position)


@pytest.mark.parametrize("kind", [Commenting, AsyncCommenting])
async def test_each_comment_is_kept_with_its_move(server: Loopback, kind: type[Bot]) -> None:
    for game in await games_of(server, kind, keep_scores=True):
        expected = {ply: f"ply {ply}: \N{GREEK SMALL LETTER PI}\0\n" for ply in range(len(game.moves)) if ply & 2}
        assert unpack_comments(game.comments) == expected
        assert game.scores is None


async def test_without_kept_scores_no_comment_is_kept(server: Loopback) -> None:
    assert {game.comments for game in await games_of(server, Commenting)} == {None}


async def test_the_comment_of_a_resignation_or_an_illegal_move_is_kept(server: Loopback) -> None:
    class Sorry(Bot):
        def choose(self, position: Position) -> Move:
            if position.ply == 2:
                return Move(-1, comment="no such cell")
            return Move(position.free[0])

    class Tired(Bot):
        def choose(self, position: Position) -> Move:
            tired = Resign("tired")
            tired.comment = "good night"
            raise tired

    (game,) = await games_of(server, Sorry, games=1, keep_scores=True)
    assert (game.termination, unpack_comments(game.comments)) == (Termination.ILLEGAL_MOVE, {2: "no such cell"})
    async with loopback() as other:
        (game,) = await games_of(other, Tired, games=1, keep_scores=True)
    assert (game.termination, unpack_comments(game.comments)) == (Termination.RESIGNED, {0: "good night"})


@pytest.mark.parametrize("commented, comment", [([0], []), ([], ["a"]), ([1], ["a"])])
async def test_comments_that_do_not_fit_the_moves_close_the_stream(
    server: Loopback, commented: list[int], comment: list[str]
) -> None:
    server.referee.add(unit(conditions(), 1))
    async with raw_bot(server, 1) as bot, raw_bot(server, 2):
        await bot.asked()
        moves = pb.Moves(game=[1], ply=[0], cell=[4], commented=commented, comment=comment)
        await bot.call.write(pb.PlayRequest(moves=moves))
        assert await bot.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN")
