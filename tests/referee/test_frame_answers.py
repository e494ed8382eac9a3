"""Frames of answers over real gRPC: their order and grouping, wrong ones, and complaints."""

from collections.abc import AsyncIterator

import grpc
import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import ScheduledGame
from tests.support.games import Question, conditions, unit
from tests.support.loopback import Loopback, RawBot, error_info, raw_bot, wait_until


@pytest.fixture
async def first(server: Loopback) -> AsyncIterator[RawBot]:
    async with raw_bot(server, 1) as bot:
        yield bot


async def test_answers_come_in_any_order_and_grouping(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 7)]))
    questions = await first.next_questions()
    games = [question.game for question in questions]
    await first.send(*[(game, 0, game) for game in reversed(games[3:])])
    await first.send((games[1], 0, 1), (games[0], 0, 0), (games[2], 0, 2))
    repeated_questions: list[Question] = []
    while len(repeated_questions) < 6:
        repeated_questions += await second.next_questions()
    assert {question.game for question in repeated_questions} == set(games)


async def test_late_answers_are_counted_without_complaint(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    await first.next_questions()
    for _ in range(150):
        await first.send((1, 0, 4))
    (question,) = await second.next_questions()
    assert question == Question(1, 1, 4)
    await wait_until(lambda: server.referee.arbiter.late_answers == 149)
    assert server.counts.complaints == 0


async def test_a_resigned_row_loses_and_the_others_are_played(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 4)]))
    games = [question.game for question in await first.next_questions()]
    await first.send(*[(game, 0, 4) for game in games], resigned=[1])
    (finished,) = await server.finished_games(1)
    assert (finished.ordinal, finished.termination) == (2, Termination.RESIGNED)
    assert (finished.result, server.referee.count_running()) == (Result.SECOND_WINS, 2)


async def test_the_largest_cell_number_loses_like_any_other_off_the_board(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(), 1))
    await first.next_questions()
    await first.send((1, 0, 2**32 - 1))
    (finished,) = await server.finished_games(1)
    assert finished.termination == Termination.ILLEGAL_MOVE


# Complaints.


async def test_an_answer_to_an_unknown_question_gets_a_status_with_its_number(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(), 1))
    await first.next_numbered_frame()
    # Not acknowledged: statuses do not wait for the window.
    await first.send((77, 3, 4), (1, 5, 4))
    frame = await first.next_frame()
    assert frame.frame == 0
    assert [status.code for status in frame.statuses] == [grpc.StatusCode.INVALID_ARGUMENT.value[0]] * 2
    infos = [error_info(status) for status in frame.statuses]
    assert [info.reason for info in infos] == ["UNKNOWN_QUESTION"] * 2
    assert [dict(info.metadata) for info in infos] == [{"game": "77", "ply": "3"}, {"game": "1", "ply": "5"}]
    assert "game 77, ply 3" in frame.statuses[0].message
    assert server.counts.complaints == 2


async def test_the_hundredth_complaint_closes_the_stream(server: Loopback, first: RawBot) -> None:
    await first.send(*[(game, 0, 0) for game in range(1, 100)])
    frame = await first.next_frame()
    assert len(frame.statuses) == 99
    await first.send((100, 0, 0))
    assert await first.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "TOO_MANY_COMPLAINTS")


async def test_a_flood_of_late_answers_closes_the_stream(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    await first.next_questions()
    await first.send((1, 0, 4))
    await second.next_questions()
    late = [(1, 0, 4)] * 1_000
    await first.send(*late)
    await wait_until(lambda: server.referee.arbiter.late_answers == 1_000)
    await first.send((1, 0, 4))
    assert await first.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "TOO_MANY_ANSWERS")
    assert server.referee.arbiter.late_answers == 1_000


async def test_a_frame_of_a_hundred_thousand_answers_is_not_judged(server: Loopback, first: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    rows = [0] * 100_000
    await first.call.write(pb.PlayRequest(moves=pb.Moves(game=rows, ply=rows, cell=rows)))
    assert await first.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "TOO_MANY_ANSWERS")
    assert (server.counts.complaints, server.referee.arbiter.late_answers) == (0, 0)


async def test_a_row_can_be_resigned_once(server: Loopback, first: RawBot) -> None:
    await first.call.write(pb.PlayRequest(moves=pb.Moves(game=[1], ply=[0], cell=[0], resigned=[0, 0])))
    assert await first.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "TOO_MANY_ANSWERS")


async def test_columns_of_unequal_length_close_the_stream(server: Loopback) -> None:
    uneven = [
        pb.Moves(game=[1, 2], ply=[0], cell=[4, 4]),
        pb.Moves(game=[1], ply=[0], cell=[4, 4]),
        pb.Moves(ply=[0], cell=[4]),
        pb.Moves(cell=[4]),
    ]
    for moves in uneven:
        async with raw_bot(server, 1) as bot:
            await bot.call.write(pb.PlayRequest(moves=moves))
            assert await bot.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN")


@pytest.mark.parametrize(
    "more",
    [
        pb.Moves(exhausted=[0, 0]),
        pb.Moves(resigned=[0], reason=["no", "no"]),
        pb.Moves(scored=[0, 0], score=[1.0, 1.0]),
        pb.Moves(commented=[0, 0], comment=["", ""]),
    ],
    ids=lambda moves: moves.ListFields()[-1][0].name,
)
async def test_columns_with_more_values_than_answers_close_the_stream(server: Loopback, more: pb.Moves) -> None:
    more.game.append(1)
    more.ply.append(0)
    more.cell.append(4)
    async with raw_bot(server, 1) as bot:
        await bot.call.write(pb.PlayRequest(moves=more))
        assert await bot.refusal() == (grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN")


async def test_empty_frames_do_no_harm(server: Loopback, first: RawBot, second: RawBot) -> None:
    for request in (pb.PlayRequest(), pb.PlayRequest(moves=pb.Moves()), pb.PlayRequest(hello=pb.Hello(bot="x"))):
        await first.call.write(request)
    server.referee.add(unit(conditions(), 1))
    assert await first.next_questions() == [Question(1, 0, 0)]


async def test_a_bot_that_ends_its_stream_gets_ok(server: Loopback, first: RawBot) -> None:
    await first.call.done_writing()
    with pytest.raises(EOFError):
        await first.next_frame()
    assert await first.call.code() is grpc.StatusCode.OK
    assert not server.wire(1).online


async def test_frames_are_counted(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    await first.next_questions()
    await wait_until(lambda: server.counts.frames_received >= 1)
    assert server.counts.frames_sent >= 1
