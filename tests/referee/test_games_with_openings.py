"""Games that begin with moves on the board: questions, messages and records, also after a lost connection."""

from collections.abc import AsyncIterator

import pytest

from noughts_proto.v1 import types_pb2
from noughts_referee.arbiter import Answers
from noughts_referee.rules import Result
from noughts_referee.work_units import ScheduledGame, unpack_moves, unpack_times
from tests.support.games import ArbiterDriver, conditions, unit
from tests.support.loopback import Loopback, loopback, raw_bot


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback(margin_us=0) as server:
        yield server


@pytest.mark.parametrize("opening", [(4,), (4, 0), (4, 0, 8)])
async def test_the_side_to_move_is_asked_and_both_get_the_opening(server: Loopback, opening: tuple[int, ...]) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2) as second:
        server.referee.add(unit(conditions())._replace(openings={1: opening}))
        mover, other = (second, first) if len(opening) % 2 else (first, second)
        frame = await mover.next_acknowledged_frame()
        (starts,) = frame.starts
        assert (list(starts.moves), list(starts.move_count)) == (list(opening), [len(opening)])
        assert (list(frame.turns.ply), list(frame.turns.cell)) == ([len(opening)], [opening[-1]])
        other_frame = await other.next_acknowledged_frame()
        assert list(other_frame.starts[0].moves) == list(opening)
        assert not other_frame.turns.ply
        side = types_pb2.SIDE_SECOND if len(opening) % 2 else types_pb2.SIDE_FIRST
        assert list(starts.side) == [side]
        await mover.send((1, len(opening), 0), resigned=[0])
        (finished,) = await server.finished_games(1)
    assert finished.opening_plies == len(opening)
    assert unpack_moves(finished.moves, 9) == list(opening)
    assert unpack_times(finished.times)[: len(opening)] == [0] * len(opening)
    assert finished.result == (Result.FIRST_WINS if len(opening) % 2 else Result.SECOND_WINS)


async def test_a_reconnecting_bot_gets_the_opening_and_the_moves_after_it(server: Loopback) -> None:
    async with raw_bot(server, 2) as second:
        async with raw_bot(server, 1) as first:
            server.referee.add(unit(conditions())._replace(openings={1: (4, 0)}))
            await first.next_acknowledged_frame()
            await first.send((1, 2, 8))
            assert await second.next_questions()
        async with raw_bot(server, 1) as first:
            (starts,) = (await first.next_acknowledged_frame()).starts
            assert list(starts.moves) == [4, 0, 8]


def test_clocks_are_not_charged_for_opening_moves() -> None:
    driver = ArbiterDriver()
    shared = conditions(time="10+1")
    game = driver.arbiter.start(
        unit(shared, [ScheduledGame(1, 0, 1)])._replace(openings={1: (4, 0, 8)}),
        ScheduledGame(1, 0, 1),
        driver.player(1),
        driver.player(2),
    )
    assert (game.left_us[0], game.left_us[1], game.mover.key) == (10_000_000, 10_000_000, 2)
    assert not driver.arbiter.judge_answers(driver.player(2), Answers([1], [3], [1], [4_000_000]))
    assert (game.left_us[0], game.left_us[1]) == (10_000_000, 7_000_000)
    assert game.times_us == [0, 0, 0, 4_000_000]


def test_games_without_an_opening_begin_with_the_empty_board() -> None:
    driver = ArbiterDriver()
    openings_unit = unit(conditions(), 2)._replace(openings={2: (4, 0)})
    games = [
        driver.arbiter.start(openings_unit, slot, driver.player(1), driver.player(2)) for slot in openings_unit.slots
    ]
    assert [(game.ply, game.moves) for game in games] == [(0, []), (2, [4, 0])]


def test_an_opening_counts_for_lines_and_the_end_of_the_board() -> None:
    driver = ArbiterDriver()
    openings_unit = unit(conditions())._replace(openings={1: (0, 3, 1, 4)})
    game = driver.arbiter.start(openings_unit, openings_unit.slots[0], driver.player(1), driver.player(2))
    driver.arbiter.judge_answers(driver.player(1), Answers([1], [4], [2], [1]))
    assert driver.arbiter.take_ended() == [game]
    assert game.result is Result.FIRST_WINS
