"""Search data of a bot go over gRPC into the record of the game if the tournament keeps scores."""

from __future__ import annotations

from collections.abc import Sequence

import grpc
import pytest

from noughts_bots import Bot, Move, Position
from noughts_bots.connection.dialogue import Dialogue
from noughts_bots.sdk.bot import Answer
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.comments import CommentKeeper, CommentLimits
from noughts_referee.rules import Thought, pack_thoughts, parse_variant, unpack_thoughts, within_limits
from noughts_referee.rules.thoughts import LARGEST_NODES
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, raw_bot

from .test_scores import games_of


class Searching(Bot):
    """Reports a search at every other of its moves. Its line is two free cells and then one off the board."""

    def choose(self, position: Position) -> Move:
        if not position.ply & 2:
            return Move(position.free[0])
        return Move(position.free[0], depth=position.ply, nodes=1_000, pv=[*position.free[:2], 10**6])


class AsyncSearching(Bot):
    async def choose(self, position: Position) -> Move:
        return Searching().choose(position)


class BatchSearching(Bot):
    def choose_batch(self, positions: Sequence[Position]) -> list[Answer]:
        return [Searching().choose(position) for position in positions]


@pytest.mark.parametrize("kind", [Searching, AsyncSearching, BatchSearching])
async def test_each_thought_is_kept_with_its_move(server: Loopback, kind: type[Bot]) -> None:
    for game in await games_of(server, kind, keep_scores=True):
        expected = {
            ply: Thought(depth=ply, nodes=1_000, pv=(ply, ply + 1)) for ply in range(len(game.moves)) if ply & 2
        }
        assert unpack_thoughts(game.thoughts) == expected
        assert (game.scores, game.comments) == (None, None)


async def test_without_kept_scores_no_thought_is_kept(server: Loopback) -> None:
    assert {game.thoughts for game in await games_of(server, Searching)} == {None}


async def test_a_depth_that_is_not_a_number_resigns_with_the_reason(server: Loopback) -> None:
    class Deep(Bot):
        def choose(self, position: Position) -> Move:
            return Move(position.free[0], depth="deep")  # type: ignore[arg-type]

    (game,) = await games_of(server, Deep, games=1, keep_scores=True)
    assert "TypeError" in str(game.fault)


async def test_numbers_beyond_the_limits_are_cut_to_them(server: Loopback) -> None:
    class Boasting(Bot):
        def choose(self, position: Position) -> Move:
            return Move(position.free[0], depth=10**30, nodes=10**30, pv=[-1])

    (game,) = await games_of(server, Boasting, games=1, keep_scores=True)
    assert set(unpack_thoughts(game.thoughts).values()) == {Thought(depth=65_535, nodes=LARGEST_NODES)}


@pytest.mark.parametrize("thinking, count", [([0], 0), ([], 1), ([1], 1)])
async def test_thoughts_that_do_not_fit_the_moves_close_the_stream(
    server: Loopback, thinking: list[int], count: int
) -> None:
    server.referee.add(unit(conditions(), 1))
    async with raw_bot(server, 1) as bot, raw_bot(server, 2):
        await bot.next_questions()
        thoughts = [types_pb2.Thought(depth=1)] * count
        moves = pb.Moves(game=[1], ply=[0], cell=[4], thinking=thinking, thought=thoughts)
        await bot.call.write(pb.PlayRequest(moves=moves))
        assert await bot.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN")


@pytest.mark.parametrize(
    "pv, expected",
    [((3, 4, 5), (3, 4, 5)), ((3, 4, 3), (3, 4)), ((3, 0, 5), (3,)), ((9,), ()), ((-1, 3), ())],
)
def test_a_line_ends_before_a_move_that_cannot_be_played(pv: tuple[int, ...], expected: tuple[int, ...]) -> None:
    thought = within_limits(Thought(depth=1, pv=pv), 9, [0, 1])
    assert thought is not None
    assert thought.pv == expected


def test_a_long_line_is_cut_and_an_empty_thought_is_not_kept() -> None:
    thought = within_limits(Thought(pv=tuple(range(225))), 225, ())
    assert thought == Thought(pv=tuple(range(32)))
    assert within_limits(Thought(depth=-1, pv=(300,)), 225, ()) is None


def test_all_thoughts_of_a_frame_together_are_limited() -> None:
    class Deep(Bot):
        def choose(self, position: Position) -> Move:
            return Move(0, depth=65_535, nodes=LARGEST_NODES, pv=range(128, 160))

    dialogue, variant = Dialogue(Deep(), lambda complaint: None), parse_variant("gomoku")
    for game in range(12_000):
        dialogue.answer(game, 0, Position(variant))
    moves = dialogue.reply().moves
    assert len(moves.game) == 12_000
    assert list(moves.thinking) == list(range(len(moves.thought)))
    assert 900_000 < sum(thought.ByteSize() for thought in moves.thought) < 1 << 20


def test_packed_thoughts_are_read_back_and_take_little_space() -> None:
    thoughts = {ply: Thought(depth=12, nodes=10**9 + ply, time_us=5_000_000, pv=tuple(range(32))) for ply in range(225)}
    packed = pack_thoughts(thoughts)
    assert packed is not None
    assert unpack_thoughts(packed) == thoughts
    assert len(packed) < 5_000
    assert list(unpack_thoughts(packed[: len(packed) // 2])) == list(
        range(len(unpack_thoughts(packed[: len(packed) // 2])))
    )
    assert (pack_thoughts({}), unpack_thoughts(None)) == (None, {})


def test_thoughts_of_all_running_games_have_a_limit_of_their_own() -> None:
    keeper = CommentKeeper(CommentLimits(running_thoughts=1_400))
    games = [dict[int, Thought]() for _ in range(6)]
    for bot, thoughts in enumerate(games):
        keeper.keep_thought(thoughts, 0, Thought(depth=1, pv=(1, 2)), bot)
        keeper.keep_thought(thoughts, 0, Thought(depth=2), bot)
    assert [len(thoughts) for thoughts in games] == [1, 1, 1, 1, 0, 0]
    keeper.forget({}, games[0], (0, 9))
    keeper.keep_thought(games[5], 0, Thought(depth=3), 5)
    assert games[5] == {0: Thought(depth=3)}
    assert (keeper.comments.used, keeper.comments.left(1)) == (0, 16 << 20)


def test_one_bot_leaves_the_thoughts_of_others_their_space() -> None:
    keeper = CommentKeeper(CommentLimits(running_thoughts=4_000))
    games = [dict[int, Thought]() for _ in range(6)]
    for thoughts in games:
        keeper.keep_thought(thoughts, 0, Thought(depth=1), 1)
        keeper.keep_thought(thoughts, 1, Thought(depth=1), 2)
    assert [len(thoughts) for thoughts in games] == [2, 2, 2, 2, 0, 0]
    for thoughts in games:
        keeper.forget({}, thoughts, (1, 2))
    assert (keeper.thoughts.used, keeper.thoughts.left(1)) == (0, 1_000)


@pytest.mark.parametrize("move", [Move(4, pv=None), Move(4, depth=None, nodes=None, pv=None), Move(4, pv=())])
def test_none_stands_for_nothing_that_a_search_reports(move: Move) -> None:
    assert move.thought is None


def test_a_line_of_another_kind_than_cells_is_an_error() -> None:
    with pytest.raises(TypeError, match="pv: got 5, expected a list of cells"):
        _ = Move(4, pv=5).thought  # type: ignore[arg-type]
