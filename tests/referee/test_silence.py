"""Silent bots: passed time limits, heartbeats without an echo, frames without an acknowledgement."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import FinishedGame, unpack_allowances, unpack_moves, unpack_times
from tests.support.games import conditions, unit
from tests.support.leaping_loop import leap
from tests.support.loopback import (
    Loopback,
    RawBot,
    ScriptedContext,
    loopback,
    raw_bot,
    reason,
    serve_scripted,
    wait_until,
)

LIMIT = 2.0
MARGIN = 1.0
HEARTBEAT = 2.0


def seconds_of_moves(game: FinishedGame) -> list[float]:
    """Return the seconds of each move."""
    return [time / 1e6 for time in unpack_times(game.times)]


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback(margin_us=int(MARGIN * 1_000_000)) as server:
        yield server


@pytest.fixture
async def first(server: Loopback) -> AsyncIterator[RawBot]:
    async with raw_bot(server, 1, max_games=50) as bot:
        yield bot


@pytest.fixture
async def second(server: Loopback) -> AsyncIterator[RawBot]:
    async with raw_bot(server, 2, max_games=50) as bot:
        yield bot


# Limits.


async def wait_for_questions(bot: RawBot, games: int) -> None:
    """Return when the bot has been asked in this number of games, so that their clocks run."""
    question_count = 0
    while question_count < games:
        question_count += len(await bot.next_questions())


async def test_a_bot_that_never_moves_loses_on_time(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.next_questions()
    await leap(LIMIT)
    assert server.finished == []
    await leap(MARGIN)
    (game,) = await server.finished_games(1)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.TIMEOUT)
    (took,) = seconds_of_moves(game)
    assert took > LIMIT + MARGIN


async def test_the_second_mover_loses_on_time_too(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.next_questions()
    await first.send((1, 0, 4))
    await second.next_questions()
    await leap(LIMIT + MARGIN)
    (game,) = await server.finished_games(1)
    assert (game.result, game.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)
    assert unpack_moves(game.moves, 9) == [4]


async def test_every_one_of_many_games_loses_on_time(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 40))
    await wait_for_questions(first, 20)
    await wait_for_questions(second, 20)
    await leap(LIMIT + MARGIN)
    games = await server.finished_games(40)
    assert {game.termination for game in games} == {Termination.TIMEOUT}
    assert {len(seconds_of_moves(game)) for game in games} == {1}


async def test_a_clock_runs_out_although_each_move_was_quick(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions("mnk:1,9,9", time=f"{2.5 * LIMIT}"), 1))
    for ply in (0, 2):
        (question,) = await first.next_questions()
        assert question.ply == ply
        await leap(LIMIT)
        await first.send((1, ply, ply))
        await second.next_questions()
        await second.send((1, ply + 1, ply + 1))
    await first.next_questions()
    assert server.finished == []
    await leap(LIMIT)
    (game,) = await server.finished_games(1)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.TIMEOUT)
    assert sum(seconds_of_moves(game)[::2]) > 2.5 * LIMIT


async def test_a_move_beyond_its_limit_loses_despite_base_time(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions("mnk:1,9,9", time=f"{2.5 * LIMIT}/{LIMIT}+0"), 1))
    await first.next_questions()
    await leap(LIMIT / 2)
    await first.send((1, 0, 0))
    await second.next_questions()
    await leap(LIMIT + MARGIN)
    (game,) = await server.finished_games(1)
    assert (game.result, game.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)
    assert LIMIT / 2 <= seconds_of_moves(game)[0] < LIMIT


async def test_an_empty_clock_ends_a_move_before_its_limit(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions("mnk:1,9,9", time=f"{1.5 * LIMIT}/{LIMIT}+0"), 1))
    await first.next_questions()
    await leap(0.9 * LIMIT)
    await first.send((1, 0, 0))
    await second.next_questions()
    await second.send((1, 1, 1))
    await first.next_questions()
    await leap(0.6 * LIMIT + MARGIN)
    (game,) = await server.finished_games(1)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.TIMEOUT)
    assert len(seconds_of_moves(game)) == 3


async def test_only_the_bot_with_a_time_limit_can_lose_on_time(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(own_times={"bot-2": f"{LIMIT}/move"}), 1))
    await first.next_questions()
    await leap(3 * LIMIT)
    await first.send((1, 0, 0))
    await second.next_questions()
    assert server.finished == []
    await leap(LIMIT + MARGIN)
    (game,) = await server.finished_games(1)
    assert (game.result, game.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)
    assert seconds_of_moves(game)[0] > 3 * LIMIT


async def test_a_bots_own_margin_lengthens_its_limit(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.player(1).margin_us = 3_000_000
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.next_questions()
    await leap(LIMIT + 2)
    assert server.finished == []
    await first.send((1, 0, 0))
    await second.next_questions()
    await leap(LIMIT + MARGIN)
    (game,) = await server.finished_games(1)
    assert (game.result, game.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)


async def test_a_tournaments_own_margin_lengthens_its_limits(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move", margin_ms=3_000), 1))
    frame = await first.next_numbered_frame()
    assert [starts.margin_us for starts in frame.starts] == [3_000_000]
    await leap(LIMIT + 2)
    assert server.finished == []
    await leap(1)
    (game,) = await server.finished_games(1)
    assert game.termination == Termination.TIMEOUT
    assert game.allowances is not None
    assert {allowance.margin_us for allowance in unpack_allowances(game.allowances)} == {3_000_000}


async def test_an_answer_in_time_stops_the_clock(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move", own_times={"bot-2": "3600+0"}), 1))
    await first.next_questions()
    await first.send((1, 0, 4))
    await wait_until(lambda: server.referee.plies == 1)
    await leap(3 * LIMIT)
    assert server.finished == []


async def test_a_limit_passes_while_the_bot_is_away(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
    await wait_until(lambda: not server.wire(1).online)
    await leap(LIMIT + MARGIN)
    (game,) = await server.finished_games(1)
    assert game.termination == Termination.TIMEOUT


async def test_a_limit_begins_with_the_question_although_the_window_is_shut(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    frame = await first.next_numbered_frame()
    await first.send((1, 0, 4))
    await second.next_questions()
    await second.send((1, 1, 0))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(LIMIT)
    assert server.finished == []
    await first.send(done=frame.frame)
    await first.next_questions()
    await leap(MARGIN)
    (game,) = await server.finished_games(1)
    assert game.termination == Termination.TIMEOUT
    assert unpack_moves(game.moves, 9) == [4, 0]


async def test_a_bot_that_never_acknowledges_loses_on_time(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.next_numbered_frame()
    await first.send((1, 0, 4))
    await second.next_questions()
    await second.send((1, 1, 0))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(LIMIT + 2 * MARGIN)
    (game,) = await server.finished_games(1)
    assert (game.termination, unpack_moves(game.moves, 9)) == (Termination.TIMEOUT, [4, 0])


async def test_an_absent_bot_loses_on_time_by_an_unsent_question(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    async with raw_bot(server, 1) as first:
        await first.next_questions()
        await first.send((1, 0, 4))
        await second.next_questions()
    await wait_until(lambda: not server.wire(1).online)
    await second.send((1, 1, 0))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(LIMIT + 2 * MARGIN)
    (game,) = await server.finished_games(1)
    assert (game.termination, unpack_moves(game.moves, 9)) == (Termination.TIMEOUT, [4, 0])


async def test_the_time_of_an_answer_to_an_unsent_question_is_charged(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions("mnk:1,3,3", time="60+0"), 1))
    await first.next_numbered_frame()
    await first.send((1, 0, 0))
    await second.next_questions()
    await second.send((1, 1, 1))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(LIMIT)
    await first.send((1, 2, 2))
    (game,) = await server.finished_games(1)
    assert LIMIT <= unpack_times(game.times)[2] / 1e6 < 2 * LIMIT


async def test_an_answer_after_the_limit_is_dropped_as_late(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.next_questions()
    await leap(LIMIT + MARGIN)
    await server.finished_games(1)
    await first.send((1, 0, 4))
    await wait_until(lambda: server.referee.arbiter.late_answers == 1)
    assert len(server.finished) == 1


async def test_games_with_shorter_limits_end_first(server: Loopback, first: RawBot, second: RawBot) -> None:
    for tournament, limits in enumerate([3, 1, 2], start=1):
        server.referee.add(unit(conditions(time=f"{limits * LIMIT}/move", tournament=tournament), 1))
    await wait_for_questions(first, 3)
    for ended in ([2], [2, 3], [2, 3, 1]):
        await leap(LIMIT + MARGIN)
        assert [game.tournament for game in server.finished] == ended


# Heartbeats.


@pytest.fixture
async def heartbeat_server() -> AsyncIterator[Loopback]:
    async with loopback(heartbeat=HEARTBEAT) as server:
        yield server


async def exchange_heartbeats(server: Loopback, *bots: RawBot) -> None:
    """Let a heartbeat's period pass and these bots echo it; return when the referee has read the echoes."""
    await leap(HEARTBEAT)
    for bot in bots:
        while not (frame := await bot.next_frame()).heartbeat.id:
            pass
        before = server.counts.frames_received
        await bot.send(heartbeat=frame.heartbeat.id)
        await wait_until(lambda before=before: server.counts.frames_received > before)  # type: ignore[misc]


async def test_an_idle_bot_that_echoes_no_heartbeats_is_disconnected(heartbeat_server: Loopback) -> None:
    async with raw_bot(heartbeat_server, 1) as bot:
        await leap(HEARTBEAT)
        assert (await bot.next_frame()).heartbeat.id == 1
        await leap(HEARTBEAT)
        assert heartbeat_server.wire(1).online
        await leap(HEARTBEAT)
        assert await bot.refusal() == (grpc.StatusCode.DEADLINE_EXCEEDED, "HEARTBEAT_MISSED")
    assert not heartbeat_server.wire(1).online


async def test_an_idle_bot_that_echoes_heartbeats_stays_online(heartbeat_server: Loopback) -> None:
    async with raw_bot(heartbeat_server, 1) as bot:
        for _ in range(5):
            await exchange_heartbeats(heartbeat_server, bot)
        assert heartbeat_server.wire(1).online


async def test_a_bot_that_keeps_sending_gets_no_heartbeats() -> None:
    context = ScriptedContext()
    async with loopback(heartbeat=HEARTBEAT) as server, asyncio.TaskGroup() as tasks:
        session = tasks.create_task(serve_scripted(server.wire(1), context))
        for _ in range(10):
            context.send(pb.PlayRequest())
            await leap(HEARTBEAT / 2)
        context.leave()
    assert session.result() is None
    assert [frame.HasField("heartbeat") for frame in context.written] == [False]


async def test_a_silent_bot_that_must_move_is_not_disconnected(heartbeat_server: Loopback) -> None:
    async with raw_bot(heartbeat_server, 1) as first, raw_bot(heartbeat_server, 2):
        heartbeat_server.referee.add(unit(conditions(), 1))
        await first.next_questions()
        for _ in range(6):
            await leap(HEARTBEAT)
        assert heartbeat_server.wire(1).online
        await first.send((1, 0, 0), resigned=[0])
        await heartbeat_server.finished_games(1)


async def test_a_bot_that_waits_for_its_opponent_must_echo_heartbeats(heartbeat_server: Loopback) -> None:
    async with raw_bot(heartbeat_server, 1) as first, raw_bot(heartbeat_server, 2) as second:
        heartbeat_server.referee.add(unit(conditions(), 1))
        await first.next_questions()
        await second.next_acknowledged_frame()
        await wait_until(lambda: heartbeat_server.counts.frames_received == 2)
        for _ in range(3):
            await leap(HEARTBEAT)
        assert await second.refusal() == (grpc.StatusCode.DEADLINE_EXCEEDED, "HEARTBEAT_MISSED")
        assert heartbeat_server.wire(1).online


async def test_heartbeats_do_not_wait_for_the_window(heartbeat_server: Loopback) -> None:
    async with raw_bot(heartbeat_server, 1) as first, raw_bot(heartbeat_server, 2):
        heartbeat_server.referee.add(unit(conditions(), 1))
        frame = await first.next_numbered_frame()
        await leap(HEARTBEAT)
        assert (await first.next_frame()).heartbeat.id
        assert frame.frame == 1


# Acknowledgements.


async def test_a_bot_that_never_acknowledges_a_frame_is_disconnected(heartbeat_server: Loopback) -> None:
    # Otherwise its next question would wait for the window for ever, and no clock would run.
    async with raw_bot(heartbeat_server, 1) as first, raw_bot(heartbeat_server, 2) as second:
        heartbeat_server.referee.add(unit(conditions(), 1))
        await first.next_numbered_frame()
        await first.send((1, 0, 4))
        await second.next_questions()
        await second.send((1, 1, 0))
        await wait_until(lambda: heartbeat_server.referee.player(1).outbox)
        for _ in range(3):
            await exchange_heartbeats(heartbeat_server, first, second)
        await leap(2 * HEARTBEAT)
        assert await first.refusal() == (grpc.StatusCode.DEADLINE_EXCEEDED, "FRAME_NOT_ACKNOWLEDGED")


async def test_a_bot_that_prepares_before_it_acknowledges_stays_online(heartbeat_server: Loopback) -> None:
    async with raw_bot(heartbeat_server, 1, prepares=True) as first, raw_bot(heartbeat_server, 2) as second:
        heartbeat_server.referee.add(unit(conditions(time="600+1"), 1))
        frame = await first.next_numbered_frame()
        assert not frame.turns.game
        await second.next_acknowledged_frame()
        for _ in range(6):
            await exchange_heartbeats(heartbeat_server, first, second)
        await first.send(done=frame.frame)
        assert await first.next_questions()


async def test_a_bot_can_prepare_while_its_opponent_begins(heartbeat_server: Loopback) -> None:
    async with raw_bot(heartbeat_server, 1) as first, raw_bot(heartbeat_server, 2, prepares=True) as second:
        heartbeat_server.referee.add(unit(conditions(time="600+1"), 1))
        frame = await second.next_numbered_frame()
        await first.next_questions()
        for _ in range(6):
            await exchange_heartbeats(heartbeat_server, second)
        await first.send((1, 0, 0), done=1)
        await second.send(done=frame.frame)
        assert await second.next_questions()


async def test_a_bot_that_never_ends_its_preparation_is_disconnected(heartbeat_server: Loopback) -> None:
    async with (
        raw_bot(heartbeat_server, 1, prepares=True) as first,
        raw_bot(heartbeat_server, 2) as second,
        asyncio.TaskGroup() as tasks,
    ):
        replies = tasks.create_task(acknowledge_all(second))
        heartbeat_server.referee.add(unit(conditions(time="1/move"), 1))
        await first.next_numbered_frame()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await keep_alive(heartbeat_server, first)
        replies.cancel()
    assert [game.termination for game in heartbeat_server.finished] == [Termination.TIMEOUT]
    assert reason(refused.value) == "FRAME_NOT_ACKNOWLEDGED"


async def keep_alive(server: Loopback, bot: RawBot) -> None:
    """Echo heartbeats until the server ends the stream. Raises its error."""
    while True:
        await exchange_heartbeats(server, bot)


async def acknowledge_all(bot: RawBot) -> None:
    """Acknowledge all frames and echo all heartbeats."""
    while True:
        frame = await bot.next_frame()
        await bot.send(done=frame.frame, heartbeat=frame.heartbeat.id)


async def test_a_bot_that_thinks_before_it_acknowledges_stays_online(heartbeat_server: Loopback) -> None:
    async with raw_bot(heartbeat_server, 1) as first, raw_bot(heartbeat_server, 2) as second:
        heartbeat_server.referee.add(unit(conditions(), 1))
        frame = await first.next_numbered_frame()
        await second.next_acknowledged_frame()
        for _ in range(5):
            await exchange_heartbeats(heartbeat_server, first, second)
        assert heartbeat_server.wire(1).online
        await first.send((1, 0, 0), done=frame.frame, resigned=[0])
        await heartbeat_server.finished_games(1)
