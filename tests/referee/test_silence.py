"""Bots that say nothing: limits that pass, heartbeats that are not echoed, frames that are not acknowledged."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import FinishedGame, unpack_allowances, unpack_moves, unpack_times
from tests.support.games import conditions, unit
from tests.support.leaping_loop import leap
from tests.support.loopback import Loopback, RawBot, ScriptedContext, loopback, raw_bot, serve_scripted, wait_until

LIMIT = 2.0
MARGIN = 0.2
HEARTBEAT = 2.0


def times(game: FinishedGame) -> list[float]:
    """Seconds a move."""
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


async def until_asked(bot: RawBot, games: int) -> None:
    """The bot has been asked in so many games: their clocks run."""
    asked = 0
    while asked < games:
        asked += len(await bot.asked())


async def test_a_move_that_never_comes_loses_on_time(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.asked()
    await leap(LIMIT)
    assert server.finished == []
    await leap(MARGIN)
    (game,) = await server.played(1)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.TIMEOUT)
    (took,) = times(game)
    assert took > LIMIT + MARGIN


async def test_the_second_mover_loses_on_time_too(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.asked()
    await first.send((1, 0, 4))
    await second.asked()
    await leap(LIMIT + MARGIN)
    (game,) = await server.played(1)
    assert (game.result, game.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)
    assert unpack_moves(game.moves, 9) == [4]


async def test_every_one_of_many_games_loses_on_time(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 40))
    await until_asked(first, 20)
    await until_asked(second, 20)
    await leap(LIMIT + MARGIN)
    games = await server.played(40)
    assert {game.termination for game in games} == {Termination.TIMEOUT}
    assert {len(times(game)) for game in games} == {1}


async def test_a_bank_runs_out_though_each_move_was_quick(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions("mnk:1,9,9", time=f"{2.5 * LIMIT}"), 1))
    for ply in (0, 2):
        (question,) = await first.asked()
        assert question.ply == ply
        await leap(LIMIT)
        await first.send((1, ply, ply))
        await second.asked()
        await second.send((1, ply + 1, ply + 1))
    await first.asked()
    assert server.finished == []
    await leap(LIMIT)
    (game,) = await server.played(1)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.TIMEOUT)
    assert sum(times(game)[::2]) > 2.5 * LIMIT


async def test_a_move_beyond_its_limit_loses_though_there_is_a_bank(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions("mnk:1,9,9", time=f"{2.5 * LIMIT}/{LIMIT}+0"), 1))
    await first.asked()
    await leap(LIMIT / 2)
    await first.send((1, 0, 0))
    await second.asked()
    await leap(LIMIT + MARGIN)
    (game,) = await server.played(1)
    assert (game.result, game.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)
    assert LIMIT / 2 <= times(game)[0] < LIMIT


async def test_a_bank_that_has_run_out_ends_a_move_before_its_limit(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions("mnk:1,9,9", time=f"{1.5 * LIMIT}/{LIMIT}+0"), 1))
    await first.asked()
    await leap(0.9 * LIMIT)
    await first.send((1, 0, 0))
    await second.asked()
    await second.send((1, 1, 1))
    await first.asked()
    await leap(0.6 * LIMIT + MARGIN)
    (game,) = await server.played(1)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.TIMEOUT)
    assert len(times(game)) == 3


async def test_a_bot_without_a_limit_never_loses_on_time_though_its_opponent_may(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(own_times={"bot-2": f"{LIMIT}/move"}), 1))
    await first.asked()
    await leap(3 * LIMIT)
    await first.send((1, 0, 0))
    await second.asked()
    assert server.finished == []
    await leap(LIMIT + MARGIN)
    (game,) = await server.played(1)
    assert (game.result, game.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)
    assert times(game)[0] > 3 * LIMIT


async def test_a_bot_with_a_margin_of_its_own_has_so_much_longer(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.player(1).margin_us = 3_000_000
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.asked()
    await leap(LIMIT + 2.5)
    assert server.finished == []
    await first.send((1, 0, 0))
    await second.asked()
    await leap(LIMIT + MARGIN)
    (game,) = await server.played(1)
    assert (game.result, game.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)


async def test_a_tournament_can_have_a_margin_of_its_own(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move", margin_ms=3_000), 1))
    frame = await first.numbered()
    assert [starts.margin_us for starts in frame.starts] == [3_000_000]
    await leap(LIMIT + 2.5)
    assert server.finished == []
    await leap(1)
    (game,) = await server.played(1)
    assert game.termination == Termination.TIMEOUT
    assert game.allowances is not None
    assert {each.margin_us for each in unpack_allowances(game.allowances)} == {3_000_000}


async def test_an_answer_in_time_stops_the_clock(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move", own_times={"bot-2": "3600+0"}), 1))
    await first.asked()
    await first.send((1, 0, 4))
    await wait_until(lambda: server.referee.plies == 1)
    await leap(3 * LIMIT)
    assert server.finished == []


async def test_a_limit_passes_while_the_bot_is_away(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    async with raw_bot(server, 1) as first:
        await first.asked()
    await wait_until(lambda: not server.wire(1).online)
    await leap(LIMIT + MARGIN)
    (game,) = await server.played(1)
    assert game.termination == Termination.TIMEOUT


async def test_a_limit_begins_with_the_question_although_the_window_is_shut(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    frame = await first.numbered()
    await first.send((1, 0, 4))
    await second.asked()
    await second.send((1, 1, 0))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(LIMIT - 2 * MARGIN)
    assert server.finished == []
    await first.send(done=frame.frame)
    await first.asked()
    await leap(3 * MARGIN)
    (game,) = await server.played(1)
    assert game.termination == Termination.TIMEOUT
    assert unpack_moves(game.moves, 9) == [4, 0]


async def test_a_bot_that_never_acknowledges_loses_on_time(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.numbered()
    await first.send((1, 0, 4))
    await second.asked()
    await second.send((1, 1, 0))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(LIMIT + 2 * MARGIN)
    (game,) = await server.played(1)
    assert (game.termination, unpack_moves(game.moves, 9)) == (Termination.TIMEOUT, [4, 0])


async def test_an_absent_bot_loses_on_time_by_an_unsent_question(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    async with raw_bot(server, 1) as first:
        await first.asked()
        await first.send((1, 0, 4))
        await second.asked()
    await wait_until(lambda: not server.wire(1).online)
    await second.send((1, 1, 0))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(LIMIT + 2 * MARGIN)
    (game,) = await server.played(1)
    assert (game.termination, unpack_moves(game.moves, 9)) == (Termination.TIMEOUT, [4, 0])


async def test_an_answer_to_a_question_that_was_not_sent_is_charged(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions("mnk:1,3,3", time="60+0"), 1))
    await first.numbered()
    await first.send((1, 0, 0))
    await second.asked()
    await second.send((1, 1, 1))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    await leap(LIMIT)
    await first.send((1, 2, 2))
    (game,) = await server.played(1)
    assert LIMIT <= unpack_times(game.times)[2] / 1e6 < 2 * LIMIT


async def test_an_answer_after_the_limit_is_dropped_like_any_late_answer(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(time=f"{LIMIT}/move"), 1))
    await first.asked()
    await leap(LIMIT + MARGIN)
    await server.played(1)
    await first.send((1, 0, 4))
    await wait_until(lambda: server.referee.arbiter.late_answers == 1)
    assert len(server.finished) == 1


async def test_limits_of_several_lengths_pass_in_their_order(server: Loopback, first: RawBot, second: RawBot) -> None:
    for tournament, limits in enumerate([3, 1, 2], start=1):
        server.referee.add(unit(conditions(time=f"{limits * LIMIT}/move", tournament=tournament), 1))
    await until_asked(first, 3)
    for ended in ([2], [2, 3], [2, 3, 1]):
        await leap(LIMIT + MARGIN)
        assert [game.tournament for game in server.finished] == ended


# Heartbeats.


@pytest.fixture
async def lively() -> AsyncIterator[Loopback]:
    async with loopback(heartbeat=HEARTBEAT) as server:
        yield server


async def beat(server: Loopback, *bots: RawBot) -> None:
    """A period passes, each of these bots gets a heartbeat and echoes it, and the referee has read that."""
    await leap(HEARTBEAT)
    for bot in bots:
        while not (frame := await bot.frame()).heartbeat.id:
            pass
        before = server.counts.frames_up
        await bot.send(heartbeat=frame.heartbeat.id)
        await wait_until(lambda before=before: server.counts.frames_up > before)  # type: ignore[misc]


async def test_an_idle_bot_that_does_not_echo_heartbeats_is_closed(lively: Loopback) -> None:
    async with raw_bot(lively, 1) as bot:
        await leap(HEARTBEAT)
        assert (await bot.frame()).heartbeat.id == 1
        await leap(HEARTBEAT)
        assert lively.wire(1).online
        await leap(HEARTBEAT)
        assert await bot.refusal() == (grpc.StatusCode.DEADLINE_EXCEEDED, "HEARTBEAT_MISSED")
    assert not lively.wire(1).online


async def test_an_idle_bot_that_echoes_heartbeats_stays(lively: Loopback) -> None:
    async with raw_bot(lively, 1) as bot:
        for _ in range(5):
            await beat(lively, bot)
        assert lively.wire(1).online


async def test_a_bot_that_talks_anyway_gets_no_heartbeats() -> None:
    context = ScriptedContext()
    async with loopback(heartbeat=HEARTBEAT) as server, asyncio.TaskGroup() as tasks:
        session = tasks.create_task(serve_scripted(server.wire(1), context))
        for _ in range(10):
            context.send(pb.PlayRequest())
            await leap(HEARTBEAT / 2)
        context.leave()
    assert session.result() is None
    assert [frame.HasField("heartbeat") for frame in context.written] == [False]


async def test_a_bot_that_thinks_is_not_closed_however_silent_it_is(lively: Loopback) -> None:
    async with raw_bot(lively, 1) as first, raw_bot(lively, 2):
        lively.referee.add(unit(conditions(), 1))
        await first.asked()
        for _ in range(6):
            await leap(HEARTBEAT)
        assert lively.wire(1).online
        await first.send((1, 0, 0), resigned=[0])
        await lively.played(1)


async def test_a_bot_whose_opponent_thinks_must_echo(lively: Loopback) -> None:
    async with raw_bot(lively, 1) as first, raw_bot(lively, 2) as second:
        lively.referee.add(unit(conditions(), 1))
        await first.asked()
        await second.taken()
        await wait_until(lambda: lively.counts.frames_up == 2)
        for _ in range(3):
            await leap(HEARTBEAT)
        assert await second.refusal() == (grpc.StatusCode.DEADLINE_EXCEEDED, "HEARTBEAT_MISSED")
        assert lively.wire(1).online


async def test_heartbeats_do_not_wait_for_the_window(lively: Loopback) -> None:
    async with raw_bot(lively, 1) as first, raw_bot(lively, 2):
        lively.referee.add(unit(conditions(), 1))
        frame = await first.numbered()
        await leap(HEARTBEAT)
        assert (await first.frame()).heartbeat.id
        assert frame.frame == 1


# Acknowledgements.


async def test_a_bot_that_answers_and_echoes_but_never_acknowledges_is_closed(lively: Loopback) -> None:
    """Otherwise its next question would wait for the window for ever, and no clock would run."""
    async with raw_bot(lively, 1) as first, raw_bot(lively, 2) as second:
        lively.referee.add(unit(conditions(), 1))
        await first.numbered()
        await first.send((1, 0, 4))
        await second.asked()
        await second.send((1, 1, 0))
        await wait_until(lambda: lively.referee.player(1).outbox)
        for _ in range(3):
            await beat(lively, first, second)
        await leap(2 * HEARTBEAT)
        assert await first.refusal() == (grpc.StatusCode.DEADLINE_EXCEEDED, "FRAME_NOT_ACKNOWLEDGED")


async def test_a_bot_that_thinks_before_it_acknowledges_is_not_closed(lively: Loopback) -> None:
    async with raw_bot(lively, 1) as first, raw_bot(lively, 2) as second:
        lively.referee.add(unit(conditions(), 1))
        frame = await first.numbered()
        await second.taken()
        for _ in range(5):
            await beat(lively, first, second)
        assert lively.wire(1).online
        await first.send((1, 0, 0), done=frame.frame, resigned=[0])
        await lively.played(1)
