"""Comments of bots: from the SDK over gRPC to the record of the game, if its tournament keeps them."""

from __future__ import annotations

import json
import tracemalloc
import zlib

import grpc
import pytest

from noughts_bots import Bot, Move, Position, Resign, parse_variant
from noughts_bots.connection.dialogue import Dialogue
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.comments import CUT, CommentKeeper, CommentLimits, unpack_comments
from noughts_referee.rules import Termination
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, loopback, raw_bot

from .test_scores import games_of


def comment_of(position: Position) -> str:
    return f"ply {position.ply}: \N{GREEK SMALL LETTER PI}\0\n"


class Commenting(Bot):
    """Comments on every other of its moves."""

    def choose(self, position: Position) -> Move:
        return Move(position.free[0], comment=comment_of(position) if position.ply & 2 else "")


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
        await bot.next_questions()
        moves = pb.Moves(game=[1], ply=[0], cell=[4], commented=commented, comment=comment)
        await bot.call.write(pb.PlayRequest(moves=moves))
        assert await bot.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN")


async def test_comment_beyond_the_limit_is_cut_and_marked(server: Loopback) -> None:
    class Novelist(Bot):
        def choose(self, position: Position) -> Move:
            return Move(position.free[0], comment="\N{GREEK SMALL LETTER PI}" * 60_000)

    (game,) = await games_of(server, Novelist, games=1, keep_scores=True)
    assert set(unpack_comments(game.comments).values()) == {"\N{GREEK SMALL LETTER PI}" * 1_024 + CUT}


LONG = "\N{GREEK SMALL LETTER PI}" * 5_000_000


async def test_texts_of_megabytes_do_not_end_the_connection(server: Loopback) -> None:
    class Verbose(Bot):
        def choose(self, position: Position) -> Move:
            if position.ply > 1:
                resignation = Resign(LONG)
                resignation.comment = LONG
                raise resignation
            return Move(position.free[0], comment=LONG)

    (game,) = await games_of(server, Verbose, games=1, keep_scores=True)
    assert (game.termination, game.fault) == (Termination.RESIGNED, f"resigned: {LONG[:500]}")
    assert list(unpack_comments(game.comments)) == [0, 1, 2]


async def test_a_failure_of_megabytes_does_not_end_the_connection(server: Loopback) -> None:
    class Failing(Bot):
        def choose(self, position: Position) -> Move:
            raise ValueError(LONG)

    (game,) = await games_of(server, Failing, games=1)
    assert game.termination == Termination.RESIGNED
    assert len(game.fault or "") < 600


async def test_all_texts_of_a_frame_together_are_limited() -> None:
    class Commentator(Bot):
        comment_bytes = 65_536

        def choose(self, position: Position) -> Move:
            return Move(position.free[0], comment="x" * 65_536)

    dialogue = Dialogue(Commentator(), lambda complaint: None)
    for game in range(40):
        dialogue.answer(game, 0, Position(parse_variant("tictactoe")))
    comments = dialogue.reply().moves.comment
    assert ([*map(len, comments[:16])], set(comments[16:])) == ([65_536] * 16, {""})


async def test_half_a_character_in_a_comment_is_replaced(server: Loopback) -> None:
    class Odd(Bot):
        def choose(self, position: Position) -> Move:
            return Move(position.free[0], comment="a\ud83d")

    (game,) = await games_of(server, Odd, games=1, keep_scores=True)
    assert set(unpack_comments(game.comments).values()) == {"a?"}


async def test_a_comment_that_is_not_a_text_resigns_with_the_reason(server: Loopback) -> None:
    class Numeric(Bot):
        def choose(self, position: Position) -> Move:
            return Move(position.free[0], comment=5)  # type: ignore[arg-type]

    (game,) = await games_of(server, Numeric, games=1, keep_scores=True)
    assert "got a comment of type int, expected a text" in str(game.fault)


def test_comments_of_a_side_end_at_half_the_limit_of_the_game() -> None:
    keeper, comments = CommentKeeper(CommentLimits(move=100, game=1_000)), dict[int, str]()
    for ply in range(0, 40, 2):
        keeper.keep(comments, ply, "x" * 90, 1)
    assert sum(map(len, comments.values())) == keeper.comments.used <= 500 + len(CUT)
    assert [text.endswith(CUT) for text in comments.values()] == [False] * 5 + [True]
    keeper.keep(comments, 1, "the opponent's", 2)
    assert comments[1] == "the opponent's"


def test_comments_of_all_running_games_have_one_limit() -> None:
    keeper = CommentKeeper(CommentLimits(move=100, game=1_000, running=400))
    games = [dict[int, str]() for _ in range(6)]
    for bot, comments in enumerate(games):
        keeper.keep(comments, 0, "x" * 90, bot)
    assert [comments[0] for comments in games] == ["x" * 90] * 4 + ["x" * 40 + CUT, CUT]
    keeper.forget(games[0], {}, (0, 9))
    keeper.keep(games[0], 2, "there is room again", 0)
    assert not games[0][2].endswith(CUT)


def test_one_bot_leaves_the_comments_of_others_their_space() -> None:
    keeper = CommentKeeper(CommentLimits(move=100, game=1_000, running=1_200))
    games = [dict[int, str]() for _ in range(5)]
    for comments in games:
        keeper.keep(comments, 0, "x" * 90, 1)
    assert [comments[0] for comments in games] == ["x" * 90] * 3 + ["x" * 30 + CUT, CUT]
    keeper.keep(games[4], 1, "y" * 90, 2)
    assert games[4][1] == "y" * 90


def test_stored_comments_of_any_size_are_read_in_bounded_memory() -> None:
    game = {ply: f"{ply}" * 20_000 for ply in range(900)}
    packed = zlib.compress(json.dumps(game, separators=(",", ":")).encode())
    tracemalloc.start()
    comments = unpack_comments(packed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20
    last = max(comments)
    assert comments == {**{ply: game[ply] for ply in range(last)}, last: game[last] + CUT}
    # A reader can leave out the end of what is stored.
    assert unpack_comments(packed[: len(packed) // 2])
