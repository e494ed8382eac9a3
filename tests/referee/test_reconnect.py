"""A bot that disconnects and reconnects: its games and its clocks."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from noughts_referee import frame_connection as remote
from noughts_referee.arbiter import Answers
from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import ScheduledGame, unpack_times
from tests.support.games import Question, conditions, unit
from tests.support.leaping_loop import leap
from tests.support.loopback import (
    Link,
    Loopback,
    RawBot,
    ScriptedContext,
    link_to,
    loopback,
    raw_bot,
    serve_scripted,
    turns,
    wait_until,
)

AWAY_SECONDS = 4.0
"""Much longer than the unmeasured delays of a test, and shorter than the period of heartbeats."""
RECONNECT_TIMEOUT = 10.0
"""Seconds."""


async def wait_until_offline(server: Loopback, key: int) -> None:
    await wait_until(lambda: not server.wire(key).online)


# Games are sent again.


async def test_running_games_are_sent_again_with_moves_and_questions(server: Loopback, second: RawBot) -> None:
    server.referee.add(
        unit(conditions("mnk:5,5,5"), [ScheduledGame(1, 0, 1), ScheduledGame(2, 0, 1), ScheduledGame(3, 1, 0)])
    )
    async with raw_bot(server, 1) as first:
        questions = await first.next_questions()
        await first.send((questions[0].game, 0, 7), (questions[1].game, 0, 9))
        questions_of_second = await second.next_questions()
        while len(questions_of_second) < 3:
            questions_of_second += await second.next_questions()
        await second.send((questions[0].game, 1, 8))
        await first.next_questions()
    await wait_until_offline(server, 1)
    async with raw_bot(server, 1) as first:
        frame = await first.next_numbered_frame()
        assert frame.frame == 1
        (starts,) = frame.starts
        assert list(starts.game) == [1, 2, 3]
        assert list(starts.move_count) == [2, 1, 0]
        assert list(starts.moves) == [7, 8, 9]
        assert turns(frame) == [Question(1, 2, 8)]
        await first.send((1, 2, 24), done=1)
        assert await second.next_questions() == [Question(1, 3, 24)]


@pytest.mark.parametrize("time, prepares", [("none", False), ("60+1", True)])
async def test_games_too_many_for_one_frame_are_sent_again_in_several(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, time: str, prepares: bool
) -> None:
    monkeypatch.setattr(remote, "_FEW_STARTS", 3)
    monkeypatch.setattr(remote, "_MOST_MOVES", 5)
    async with raw_bot(server, 2, max_games=10) as second:
        await _reconnect_to_many_games(server, second, time, prepares=prepares)


async def _reconnect_to_many_games(server: Loopback, second: RawBot, time: str, *, prepares: bool) -> None:
    slots = [ScheduledGame(number, 0, 1) for number in range(1, 11)]
    server.referee.add(unit(conditions("mnk:5,5,5", time), slots))
    async with raw_bot(server, 1, max_games=10, prepares=prepares) as first:
        questions_of_first = await first.next_questions()
        assert len(questions_of_first) == 10
        await first.send(*((question.game, 0, 7) for question in questions_of_first))
        questions_of_second = await second.next_questions()
        while len(questions_of_second) < 10:
            questions_of_second += await second.next_questions()
        # Six games wait for the bot that leaves, four for the other one.
        await second.send(*((question.game, 1, 8) for question in questions_of_second[:6]))
        assert len(await first.next_questions()) == 6
    await wait_until_offline(server, 1)
    started_games: list[int] = []
    questions: list[Question] = []
    async with raw_bot(server, 1, max_games=10, prepares=prepares) as first:
        while len(started_games) < 10 or len(questions) < 6:
            frame = await first.next_acknowledged_frame()
            assert sum(len(starts.moves) for starts in frame.starts) <= 5
            started_games += [game for starts in frame.starts for game in starts.game]
            questions += turns(frame)
            assert {question.game for question in questions} <= set(started_games)
        assert started_games == list(range(1, 11))
        assert sorted(questions) == [Question(game, 2, 8) for game in range(1, 7)]
        await first.send((6, 2, 24), done=frame.frame)
        assert await second.next_questions() == [Question(6, 3, 24)]


async def test_a_move_made_while_the_bot_was_away_is_in_its_start(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await first.send((1, 0, 4))
        await second.next_questions()
    await wait_until_offline(server, 1)
    await second.send((1, 1, 0))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    async with raw_bot(server, 1) as first:
        frame = await first.next_numbered_frame()
        assert [list(starts.moves) for starts in frame.starts] == [[4, 0]]
        assert turns(frame) == [Question(1, 2, 0)]


async def test_a_move_made_right_after_a_reconnect_is_sent_once(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await first.send((1, 0, 4))
        await second.next_questions()
    await wait_until_offline(server, 1)
    async with raw_bot(server, 1) as first:
        # The start of the game waits for a question to travel with; here it comes.
        server.referee.judge_answers(server.referee.player(2), Answers([1], [1], [0], [0]))
        frame = await first.next_acknowledged_frame()
        if not turns(frame):
            assert [list(starts.moves) for starts in frame.starts] == [[4]]
            frame = await first.next_acknowledged_frame()
        else:
            assert [list(starts.moves) for starts in frame.starts] == [[4, 0]]
        assert turns(frame) == [Question(1, 2, 0)]


async def test_a_game_that_ended_while_the_bot_was_away_is_not_mentioned(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 2))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await second.next_questions()
    await wait_until_offline(server, 1)
    await second.send((2, 0, 0), resigned=[0])
    await server.finished_games(1)
    async with raw_bot(server, 1) as first:
        frame = await first.next_numbered_frame()
        assert [list(starts.game) for starts in frame.starts] == [[1]]
        assert list(frame.ends.game) == []


async def test_no_game_begins_with_a_bot_that_is_away(server: Loopback, second: RawBot) -> None:
    async with raw_bot(server, 1):
        pass
    await wait_until_offline(server, 1)
    server.referee.add(unit(conditions(), 3))
    assert server.referee.count_running() == 0
    async with raw_bot(server, 1):
        assert server.referee.count_running() == 3


@pytest.mark.parametrize("ending", ["half-closed", "cancelled", "cut off"])
async def test_a_bot_can_reconnect_however_its_stream_ended(server: Loopback, second: RawBot, ending: str) -> None:
    server.referee.add(unit(conditions(), 1))
    async with AsyncExitStack() as stack:
        link: Link = await stack.enter_async_context(link_to(server.port))
        first = await stack.enter_async_context(raw_bot(server, 1, port=link.port))
        await first.next_questions()
        if ending == "half-closed":
            await first.call.done_writing()
        elif ending == "cancelled":
            first.call.cancel()
        else:
            link.cut()
        await wait_until_offline(server, 1)
    async with raw_bot(server, 1) as first:
        assert await first.next_questions() == [Question(1, 0, 0)]


# Clocks.


async def seconds_of_moves(server: Loopback) -> list[float]:
    """Wait for the end of the only game, and return the seconds of each move."""
    (game,) = await server.finished_games(1)
    return [time / 1e6 for time in unpack_times(game.times)]


async def test_the_clock_of_a_question_runs_on_while_the_bot_is_away(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions("mnk:1,1,1"), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
    await wait_until_offline(server, 1)
    await leap(AWAY_SECONDS)
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await first.send((1, 0, 0))
        (took,) = await seconds_of_moves(server)
    assert took >= AWAY_SECONDS


@pytest.mark.parametrize("time", ["none", "60+0"])
async def test_a_question_to_an_absent_bot_costs_its_clock(server: Loopback, second: RawBot, time: str) -> None:
    server.referee.add(unit(conditions("mnk:1,3,3", time=time), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await first.send((1, 0, 0))
        await second.next_questions()
    await wait_until_offline(server, 1)
    await second.send((1, 1, 1))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(AWAY_SECONDS)
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await first.send((1, 2, 2))
        took = (await seconds_of_moves(server))[2]
    assert (took >= AWAY_SECONDS) is (time != "none")


@pytest.mark.parametrize("time", ["none", "60+0"])
async def test_a_question_that_waits_for_the_window_costs_the_clock(
    server: Loopback, second: RawBot, time: str
) -> None:
    server.referee.add(unit(conditions("mnk:1,3,3", time=time), 1))
    async with raw_bot(server, 1) as first:
        frame = await first.next_numbered_frame()
        await first.send((1, 0, 0))
        await second.next_questions()
        await second.send((1, 1, 1))
        await wait_until(lambda: server.referee.player(1).outbox.turn_game)
        await leap(AWAY_SECONDS)
        await first.send(done=frame.frame)
        await first.next_questions()
        await first.send((1, 2, 2))
        took = (await seconds_of_moves(server))[2]
    assert (took >= AWAY_SECONDS) is (time != "none")


async def test_time_since_an_answer_is_not_charged_to_the_next_question(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions("mnk:1,3,3"), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await first.send((1, 0, 0))
        await second.next_questions()
    await wait_until_offline(server, 1)
    await leap(AWAY_SECONDS)
    async with raw_bot(server, 1) as first:
        # In the 20 ms in which the start waits for a question, there is one: both travel in the first frame.
        server.referee.judge_answers(server.referee.player(2), Answers([1], [1], [1], [0]))
        await first.next_questions()
        await first.send((1, 2, 2))
        took = (await seconds_of_moves(server))[2]
    assert took < AWAY_SECONDS


async def test_repeated_reconnects_do_not_stop_the_clock(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions("mnk:1,1,1"), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        wire = server.wire(1)
        # Two logins at once: the older of them is replaced before it was sent a frame.
        async with asyncio.TaskGroup() as tasks:
            contexts = [ScriptedContext().leave() for _ in range(2)]
            contexts[0].flowing.clear()
            contexts[1].flowing.clear()
            for context in contexts:
                tasks.create_task(serve_scripted(wire, context))
            await leap(AWAY_SECONDS)
            for context in contexts:
                context.flowing.set()
        assert [len(context.written) for context in contexts] == [1, 1]
    await wait_until_offline(server, 1)
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await first.send((1, 0, 0))
        (took,) = await seconds_of_moves(server)
    assert took >= AWAY_SECONDS


# The reconnect timeout.


async def test_a_bot_that_stays_away_past_the_timeout_loses_its_games() -> None:
    async with loopback(reconnect_timeout=RECONNECT_TIMEOUT) as server, raw_bot(server, 2) as second:
        server.referee.add(unit(conditions(concurrency=2), 3))
        async with raw_bot(server, 1) as first:
            await first.next_questions()
        await wait_until_offline(server, 1)
        await leap(RECONNECT_TIMEOUT)
        games = await server.finished_games(2)
        assert [(game.ordinal, game.termination) for game in games] == [
            (1, Termination.DISCONNECTED),
            (2, Termination.DISCONNECTED),
        ]
        assert [game.result for game in games] == [Result.SECOND_WINS, Result.FIRST_WINS]
        while len((frame := await second.next_acknowledged_frame()).ends.game) < 2:
            pass
        assert server.referee.count_queued(1) == 1
        assert frame.frame


async def test_a_bot_that_reconnects_before_the_timeout_loses_nothing() -> None:
    async with (
        loopback(reconnect_timeout=RECONNECT_TIMEOUT, heartbeat=10 * RECONNECT_TIMEOUT) as server,
        raw_bot(server, 2),
    ):
        server.referee.add(unit(conditions(), 1))
        for _ in range(3):
            async with raw_bot(server, 1) as first:
                await first.next_questions()
            await wait_until_offline(server, 1)
            await leap(RECONNECT_TIMEOUT / 2)
        async with raw_bot(server, 1) as first:
            await leap(RECONNECT_TIMEOUT)
            assert server.finished == []
            assert await first.next_questions() == [Question(1, 0, 0)]


async def test_a_bot_that_lost_its_games_can_play_the_next() -> None:
    async with loopback(reconnect_timeout=RECONNECT_TIMEOUT) as server, raw_bot(server, 2):
        server.referee.add(unit(conditions(concurrency=1), [ScheduledGame(1, 0, 1), ScheduledGame(2, 0, 1)]))
        async with raw_bot(server, 1) as first:
            await first.next_questions()
        await wait_until_offline(server, 1)
        await leap(RECONNECT_TIMEOUT)
        await server.finished_games(1)
        async with raw_bot(server, 1) as first:
            assert await first.next_questions() == [Question(2, 0, 0)]


async def test_a_dismissed_bot_loses_at_once(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        server.wire(1).dismiss(Termination.CRASHED)
        (game,) = await server.finished_games(1)
        assert game.termination == Termination.CRASHED
