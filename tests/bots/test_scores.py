"""Scores of bots travel from the SDK over real gRPC to the referee's observer, and nowhere else."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence

import grpc
import pytest

from noughts_bots import Bot, Move, Position
from noughts_bots.connection.session import play
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.game import Game
from noughts_referee.rules import Termination
from noughts_referee.work_units import FinishedGame, pack_scores, unpack_scores
from tests.support.games import Question, conditions, unit
from tests.support.loopback import Loopback, loopback, raw_bot, wait_until

from .random_bots import AsyncRandomBot, RandomBot, SlowRandomBot, login


class Listener:
    """An observer of the referee that records each answered question with its score."""

    def __init__(self) -> None:
        self.recorded: list[tuple[int, int, float | None]] = []

    def note_start(self, game: Game) -> None:
        pass

    def note_answers(self, games: Sequence[int], plies: Sequence[int], scores: Sequence[tuple[int, float]]) -> None:
        score_by_row = dict(scores)
        self.recorded += [
            (game, ply, score_by_row.get(row)) for row, (game, ply) in enumerate(zip(games, plies, strict=True))
        ]

    def note_ends(self, games: Sequence[Game]) -> None:
        pass


def score_of(position: Position) -> float:
    """Return a score from which a test recognises the ply and the position."""
    return position.ply + position.rng().below(1000) / 1024


class Scoring(RandomBot):
    """Plays like `RandomBot`, and gives a score with every other move of a side: at plies 2, 3, 6, 7 and so on."""

    def choose(self, position: Position) -> int | Move:  # type: ignore[override]
        cell = position.rng().choice(position.free)
        return Move(cell, score_of(position)) if position.ply & 2 else cell


class SlowScoring(Scoring):
    def choose(self, position: Position) -> int | Move:  # type: ignore[override]
        if position.ply < 2:
            time.sleep(0.025)
        return super().choose(position)


class AsyncScoring(Bot):
    async def choose(self, position: Position) -> int | Move:
        await asyncio.sleep(0.001 * position.rng().below(3))
        cell = position.rng().choice(position.free)
        return Move(cell, score_of(position)) if position.ply & 2 else Move(cell)


KINDS: list[tuple[type[Bot], type[Bot]]] = [
    (Scoring, RandomBot),
    (SlowScoring, SlowRandomBot),
    (AsyncScoring, AsyncRandomBot),
]


@pytest.fixture
def listener(server: Loopback) -> Listener:
    listener = Listener()
    server.referee.observer = listener
    return listener


async def games_of(
    server: Loopback, kind: type[Bot], *, games: int = 8, keep_scores: bool = False
) -> list[FinishedGame]:
    """Play games between two bots of a kind, and return them in slot order."""
    async with asyncio.TaskGroup() as tasks:
        sessions = [tasks.create_task(play(kind(), login(server.port, key))) for key in (1, 2)]
        server.referee.add(unit(conditions("mnk:4,4,3", keep_scores=keep_scores), games))
        await wait_until(lambda: len(server.finished) >= games)
        for task in sessions:
            task.cancel()
    return sorted(server.finished, key=lambda game: game.ordinal)


def without_times(games: list[FinishedGame]) -> list[object]:
    """Return the stored data of games except thinking times."""
    return [(game.ordinal, game.result, game.termination, game.moves) for game in games]


@pytest.mark.parametrize("kind, silent", KINDS)
async def test_each_score_travels_with_its_move_and_changes_no_game(
    server: Loopback, listener: Listener, kind: type[Bot], silent: type[Bot]
) -> None:
    games = await games_of(server, kind)
    assert len(listener.recorded) == sum(len(game.moves) for game in games)
    for _, ply, score in listener.recorded:
        # The fraction is a random number of the game; the whole part is the ply of the question.
        assert (score is not None) == bool(ply & 2)
        assert score is None or math.floor(score) == ply
    async with loopback() as quiet:
        assert without_times(await games_of(quiet, silent)) == without_times(games)


@pytest.mark.parametrize("kind, silent", KINDS)
async def test_scores_are_part_of_a_game_if_its_tournament_keeps_them(
    server: Loopback, kind: type[Bot], silent: type[Bot]
) -> None:
    games = await games_of(server, kind, keep_scores=True)
    for game in games:
        scores = unpack_scores(game.scores)
        assert list(scores) == [ply for ply in range(len(game.moves)) if ply & 2]
        assert all(math.floor(score) == ply for ply, score in scores.items())
        assert len(game.scores or b"") == len(game.times) == 4 * len(game.moves)
    async with loopback() as other:
        assert {game.scores for game in await games_of(other, kind)} == {None}
        assert {game.scores for game in await games_of(other, silent, keep_scores=True)} == {None}


async def test_a_score_of_a_move_that_was_not_made_is_not_kept(server: Loopback) -> None:
    class Late(Bot):
        def choose(self, position: Position) -> Move:
            return Move(position.free[0] if position.ply < 2 else 99, float(position.ply))

    for game in await games_of(server, Late, games=2, keep_scores=True):
        assert (game.termination, unpack_scores(game.scores)) == (Termination.ILLEGAL_MOVE, {0: 0.0, 1: 1.0})


async def test_a_score_of_a_refused_row_is_not_kept(server: Loopback) -> None:
    server.referee.add(unit(conditions(keep_scores=True), 1))
    async with raw_bot(server, 1) as bot, raw_bot(server, 2) as other:
        ((game, *_),) = await bot.next_questions()
        moves = pb.Moves(game=[game, game], ply=[0, 0], cell=[4, 5], scored=[0, 1], score=[1.0, 999.0])
        await bot.call.write(pb.PlayRequest(moves=moves))
        ((game, *_),) = await other.next_questions()
        await other.call.write(pb.PlayRequest(moves=pb.Moves(game=[game], ply=[1], cell=[99])))
        await wait_until(lambda: bool(server.finished))
    assert unpack_scores(server.finished[0].scores) == {0: 1.0}


def test_packed_scores_are_bounded_and_have_six_digits() -> None:
    plies = 6
    packed = pack_scores({0: 0.1, 2: -1e300, 3: 1e300, 4: 123456.4, 9: 1.0}, plies)
    assert len(packed or b"") == 4 * plies
    assert unpack_scores(packed) == {0: 0.1, 2: -3e38, 3: 3e38, 4: 123456.0}
    assert pack_scores({}, 6) is pack_scores(None, 6) is None
    assert unpack_scores(None) == {}


async def test_plain_cells_bring_no_score(server: Loopback, listener: Listener) -> None:
    await games_of(server, RandomBot)
    assert listener.recorded
    assert {score for _, _, score in listener.recorded} == {None}


async def test_a_scored_cell_off_the_board_loses_like_any_other(server: Loopback) -> None:
    class Wild(Bot):
        def choose(self, position: Position) -> Move:
            return Move(99, 1.0)

    assert {game.termination for game in await games_of(server, Wild)} == {Termination.ILLEGAL_MOVE}


@pytest.mark.parametrize("move", [Move(0, "much"), Move(0, 10**400), Move(None, 1.0), (0, 1.0)])  # type: ignore[arg-type]
async def test_an_invalid_move_with_a_score_resigns_and_is_logged(
    server: Loopback, caplog: pytest.LogCaptureFixture, move: object
) -> None:
    class Odd(Bot):
        def choose(self, position: Position) -> int:
            return move  # type: ignore[return-value]  # on purpose

    (game,) = await games_of(server, Odd, games=1)
    assert game.termination is Termination.RESIGNED
    assert "the bot failed" in caplog.text


# Raw frames.


@pytest.mark.parametrize(
    "scored, score",
    [([0], []), ([], [1.0]), ([0, 0], [1.0]), ([1], [1.0]), ([0, 2**32 - 1], [1.0, 2.0])],
)
async def test_scores_that_do_not_fit_the_moves_close_the_stream(
    server: Loopback, scored: list[int], score: list[float]
) -> None:
    server.referee.add(unit(conditions(), 1))
    async with raw_bot(server, 1) as bot, raw_bot(server, 2):
        await bot.next_questions()
        await bot.call.write(pb.PlayRequest(moves=pb.Moves(game=[1], ply=[0], cell=[4], scored=scored, score=score)))
        assert await bot.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN")
    # Nothing of the frame counted.
    assert server.referee.plies == 0


async def test_scores_without_any_move_close_the_stream(server: Loopback) -> None:
    async with raw_bot(server, 1) as bot:
        await bot.call.write(pb.PlayRequest(moves=pb.Moves(scored=[0], score=[1.0])))
        assert await bot.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN")


async def test_a_score_that_is_not_finite_is_dropped_and_the_move_counts(server: Loopback, listener: Listener) -> None:
    server.referee.add(unit(conditions(), 4))
    async with raw_bot(server, 1, max_games=9) as bot, raw_bot(server, 2, max_games=9) as other:
        questions = await bot.next_questions() + await other.next_questions()
        assert [question.ply for question in questions] == [0] * 4
        own_games = [question.game for question in questions[:2]]
        moves = pb.Moves(game=own_games, ply=[0, 0], cell=[4, 4], scored=[0, 1], score=[math.nan, math.inf])
        await bot.call.write(pb.PlayRequest(moves=moves))
        other_games = [question.game for question in questions[2:]]
        moves = pb.Moves(game=other_games, ply=[0, 0], cell=[4, 4], scored=[1, 0], score=[1.5e308, -math.inf])
        await other.call.write(pb.PlayRequest(moves=moves))
        assert await other.next_questions() == [Question(game, 1, 4) for game in own_games]
        assert await bot.next_questions() == [Question(game, 1, 4) for game in other_games]
    assert sorted(listener.recorded) == sorted(
        [(own_games[0], 0, None), (own_games[1], 0, None), (other_games[0], 0, None), (other_games[1], 0, 1.5e308)],
        key=lambda row: row[0],
    )
