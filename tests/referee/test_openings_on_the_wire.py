"""Frames with opening choices: requests, answers, time limits, and repeated requests after a lost connection."""

from collections.abc import AsyncIterator

import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.rules import Result, Termination, game_seed, side_seed
from noughts_referee.work_units import unpack_moves
from tests.support.games import conditions, unit
from tests.support.leaping_loop import leap
from tests.support.loopback import Loopback, RawBot, loopback, raw_bot, wait_until


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback(margin_us=0) as server:
        for key in (1, 2):
            server.wire(key).player.opens = True
        yield server


async def next_opening(bot: RawBot) -> pb.Opening:
    """Return the next choice that the server asks of the bot; acknowledge it."""
    while not (frame := await bot.next_acknowledged_frame()).openings:
        pass
    (opening,) = frame.openings
    return opening


async def put_stones(bot: RawBot, opening: pb.Opening, *cells: int) -> None:
    choice = pb.Choice(game=opening.game, step=opening.step, put=pb.Stones(cell=cells))
    await bot.call.write(pb.PlayRequest(choices=[choice]))


async def take_side(bot: RawBot, opening: pb.Opening, side: types_pb2.Side.ValueType) -> None:
    await bot.call.write(pb.PlayRequest(choices=[pb.Choice(game=opening.game, step=opening.step, take=side)]))


async def test_a_game_is_opened_in_three_choices_and_starts_with_their_stones(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2) as second:
        server.referee.add(unit(conditions("gomoku+swap2", tournament=3)))
        opening = await next_opening(first)
        assert opening == pb.Opening(
            game=1,
            tournament="tournaments/3",
            number=1,
            variant="gomoku",
            rule="swap2",
            seed=side_seed(game_seed(1, 1), 0),
            opponent="bot-2",
            time=types_pb2.TimeControl(),
        )
        await put_stones(first, opening, 112, 113, 98)
        opening = await next_opening(second)
        assert (opening.step, list(opening.stones), opening.opponent) == (1, [112, 113, 98], "bot-1")
        await put_stones(second, opening, 20, 200)
        opening = await next_opening(first)
        assert (opening.step, list(opening.stones)) == (2, [112, 113, 98, 20, 200])
        await take_side(first, opening, types_pb2.SIDE_SECOND)
        (starts,) = (await second.next_acknowledged_frame()).starts
        assert (list(starts.side), list(starts.moves)) == ([types_pb2.SIDE_FIRST], [112, 113, 98, 20, 200])
        frame = await first.next_acknowledged_frame()
        assert (list(frame.starts[0].side), frame.starts[0].variant) == ([types_pb2.SIDE_SECOND], "gomoku")
        assert (list(frame.turns.ply), list(frame.turns.cell)) == ([5], [200])
        await first.send((1, 5, 0), resigned=[0])
        (finished,) = await server.finished_games(1)
    assert (finished.first, finished.second, finished.result) == (1, 0, Result.FIRST_WINS)
    assert unpack_moves(finished.moves, 225) == [112, 113, 98, 20, 200]


async def test_an_empty_choice_resigns_and_an_unrequested_one_is_reported(
    server: Loopback,
) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2) as second:
        server.referee.add(unit(conditions("gomoku+swap")))
        opening = await next_opening(first)
        await second.call.write(
            pb.PlayRequest(choices=[pb.Choice(game=opening.game, step=0, take=types_pb2.SIDE_FIRST)])
        )
        frame = await second.next_frame()
        assert "a choice for its opening" in frame.statuses[0].message
        reply = pb.Choice(game=opening.game, step=0, reason="no idea\nat all")
        await first.call.write(pb.PlayRequest(choices=[reply]))
        (finished,) = await server.finished_games(1)
    assert (finished.result, finished.termination) == (Result.SECOND_WINS, Termination.RESIGNED)
    assert finished.fault == "resigned: no idea"


async def test_a_late_choice_for_the_opening_loses_on_time(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2) as second:
        server.referee.add(unit(conditions("gomoku+swap", "4/move")))
        opening = await next_opening(first)
        assert opening.own_clock_us == 4_000_000
        await put_stones(first, opening, 112, 113, 98)
        await next_opening(second)
        await leap(4)
        (finished,) = await server.finished_games(1)
    assert (finished.result, finished.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)


async def test_a_choice_is_requested_again_after_a_reconnect_and_its_clock_ran(server: Loopback) -> None:
    async with raw_bot(server, 2):
        async with raw_bot(server, 1) as first:
            server.referee.add(unit(conditions("gomoku+swap", "60+0")))
            opening = await next_opening(first)
        await wait_until(lambda: not server.wire(1).online)
        async with raw_bot(server, 1) as first:
            repeated_opening = await next_opening(first)
            assert repeated_opening == opening
            await put_stones(first, repeated_opening, 112, 113, 98)
            await wait_until(lambda: server.referee.player(2).games[opening.game].times_us)
            game = server.referee.player(2).games[opening.game]
            assert game.times_us[0] > 0
            assert game.left_us[0] == 60_000_000 - game.times_us[0]
