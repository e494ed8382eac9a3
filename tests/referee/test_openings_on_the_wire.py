"""Choices for openings in frames: asked next to the columns, answered, timed, asked again after a lost connection."""

from collections.abc import AsyncIterator

import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.rules import Result, Termination, game_seed, side_seed
from noughts_referee.work_units import unpack_moves
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, RawBot, loopback, raw_bot, wait_until


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback(margin_us=0) as server:
        for key in (1, 2):
            server.wire(key).player.opens = True
        yield server


async def opened(bot: RawBot) -> pb.Opening:
    """Return the next choice that the server asks of the bot; acknowledge it."""
    while not (frame := await bot.taken()).openings:
        pass
    (opening,) = frame.openings
    return opening


async def put(bot: RawBot, opening: pb.Opening, *cells: int) -> None:
    choice = pb.Choice(game=opening.game, step=opening.step, put=pb.Stones(cell=cells))
    await bot.call.write(pb.PlayRequest(choices=[choice]))


async def take(bot: RawBot, opening: pb.Opening, side: types_pb2.Side.ValueType) -> None:
    await bot.call.write(pb.PlayRequest(choices=[pb.Choice(game=opening.game, step=opening.step, take=side)]))


async def test_a_game_is_opened_in_three_choices_and_starts_with_their_stones(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2) as second:
        server.referee.add(unit(conditions("gomoku+swap2", tournament=3)))
        asked = await opened(first)
        assert asked == pb.Opening(
            game=1,
            tournament="tournaments/3",
            number=1,
            variant="gomoku",
            rule="swap2",
            seed=side_seed(game_seed(1, 1), 0),
            opponent="bot-2",
            time=types_pb2.TimeControl(),
        )
        await put(first, asked, 112, 113, 98)
        asked = await opened(second)
        assert (asked.step, list(asked.stones), asked.opponent) == (1, [112, 113, 98], "bot-1")
        await put(second, asked, 20, 200)
        asked = await opened(first)
        assert (asked.step, list(asked.stones)) == (2, [112, 113, 98, 20, 200])
        await take(first, asked, types_pb2.SIDE_SECOND)
        (starts,) = (await second.taken()).starts
        assert (list(starts.side), list(starts.moves)) == ([types_pb2.SIDE_FIRST], [112, 113, 98, 20, 200])
        frame = await first.taken()
        assert (list(frame.starts[0].side), frame.starts[0].variant) == ([types_pb2.SIDE_SECOND], "gomoku")
        assert (list(frame.turns.ply), list(frame.turns.cell)) == ([5], [200])
        await first.send((1, 5, 0), resigned=[0])
        (played,) = await server.played(1)
    assert (played.first, played.second, played.result) == (1, 0, Result.FIRST_WINS)
    assert unpack_moves(played.moves, 225) == [112, 113, 98, 20, 200]


async def test_an_empty_choice_resigns_and_an_unasked_one_is_reported(
    server: Loopback,
) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2) as second:
        server.referee.add(unit(conditions("gomoku+swap")))
        asked = await opened(first)
        await second.call.write(pb.PlayRequest(choices=[pb.Choice(game=asked.game, step=0, take=types_pb2.SIDE_FIRST)]))
        frame = await second.frame()
        assert "a choice for its opening" in frame.statuses[0].message
        reply = pb.Choice(game=asked.game, step=0, reason="no idea\nat all")
        await first.call.write(pb.PlayRequest(choices=[reply]))
        (played,) = await server.played(1)
    assert (played.result, played.termination) == (Result.SECOND_WINS, Termination.RESIGNED)
    assert played.fault == "resigned: no idea"


async def test_who_does_not_choose_in_time_loses(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2) as second:
        server.referee.add(unit(conditions("gomoku+swap", "0.2/move")))
        asked = await opened(first)
        assert asked.own_clock_us == 200_000
        await put(first, asked, 112, 113, 98)
        await opened(second)
        (played,) = await server.played(1)
    assert (played.result, played.termination) == (Result.FIRST_WINS, Termination.TIMEOUT)


async def test_a_choice_is_asked_again_and_its_clock_has_run_on(server: Loopback) -> None:
    async with raw_bot(server, 2):
        async with raw_bot(server, 1) as first:
            server.referee.add(unit(conditions("gomoku+swap", "60+0")))
            asked = await opened(first)
        await wait_until(lambda: not server.wire(1).online)
        async with raw_bot(server, 1) as first:
            again = await opened(first)
            assert again == asked
            await put(first, again, 112, 113, 98)
            await wait_until(lambda: server.referee.player(2).games[asked.game].times_us)
            game = server.referee.player(2).games[asked.game]
            assert game.times_us[0] > 0
            assert game.left_us[0] == 60_000_000 - game.times_us[0]
