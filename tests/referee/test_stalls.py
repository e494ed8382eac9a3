"""Stalls of the server: the time that an answer waits to be read during a stall is not charged."""

from collections.abc import AsyncIterator

import pytest

from noughts_referee.rules import Termination
from noughts_referee.stalls import LEAST_US, MOST_US, Stalls
from noughts_referee.work_units import unpack_times
from tests.support.games import conditions, unit
from tests.support.leaping_loop import leap, loop_microseconds
from tests.support.loopback import Loopback, loopback, raw_bot

SECOND = 1_000_000
LIMIT = 2.0


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback() as server:
        server.referee.stalls._now = loop_microseconds
        yield server


class Clock:
    """A clock that the test sets, in microseconds."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def test_lateness_of_the_loop_counts_within_the_asked_time() -> None:
    clock = Clock()
    stalls = Stalls(clock)
    stalls.expect(0.1)
    clock.now = 3 * SECOND
    assert stalls.within(0, clock.now) == 3 * SECOND  # the loop has not run since
    assert stalls.record_run() == 2.9
    for _ in range(20):
        clock.now += 100_000
        assert stalls.record_run() == 0
    assert stalls.within(0, clock.now) == 3 * SECOND
    assert stalls.within(SECOND, clock.now) == 2 * SECOND
    assert stalls.within(3 * SECOND, clock.now) == 0
    assert (stalls.count, stalls.total_us) == (1, 3 * SECOND)


def test_the_usual_lateness_of_timers_does_not_count() -> None:
    clock = Clock()
    stalls = Stalls(clock)
    stalls.expect(0.1)
    clock.now = 100_000 + LEAST_US
    assert stalls.within(0, clock.now) == 0
    stalls.record_run()
    assert (stalls.within(0, clock.now), stalls.count) == (0, 0)


def test_a_short_halt_began_when_the_loop_was_due() -> None:
    clock = Clock()
    stalls = Stalls(clock)
    stalls.expect(0.1)
    clock.now = 150_000
    stalls.record_run()
    assert stalls.within(0, clock.now) == 50_000


def test_a_halt_right_after_the_loop_has_run_counts() -> None:
    clock = Clock()
    stalls = Stalls(clock)
    stalls.expect(0.02)
    clock.now = 20_000
    stalls.record_run()
    clock.now += 3 * SECOND
    assert stalls.within(0, clock.now) == 3 * SECOND
    stalls.record_run()
    clock.now += 3 * SECOND
    assert stalls.within(0, clock.now) == 6 * SECOND


def test_a_stall_that_is_over_does_not_move_the_arrival_of_an_answer() -> None:
    clock = Clock()
    stalls = Stalls(clock)
    stalls.expect(0.02)
    clock.now = SECOND
    assert stalls.arrival_time(clock.now) == 0  # the answer can have arrived at any time of the stall
    stalls.record_run()
    assert stalls.arrival_time(clock.now) == 0  # the loop has run only once since the stall
    clock.now += 20_000
    stalls.record_run()
    assert stalls.arrival_time(clock.now) == clock.now  # the loop has read all earlier answers


def test_two_stalls_in_a_row_count_as_one_but_not_three() -> None:
    clock = Clock()
    stalls = Stalls(clock)
    stalls.expect(0.02)
    for _ in range(3):
        clock.now += SECOND
        stalls.record_run()
    assert stalls.arrival_time(clock.now) == SECOND


def test_a_dated_answer_arrived_when_it_was_written() -> None:
    clock = Clock()
    stalls = Stalls(clock)
    stalls.expect(0.02)
    clock.now = 20_000
    stalls.record_run()
    clock.now = SECOND
    assert stalls.arrival_time(clock.now, lambda: SECOND // 2) == SECOND // 2
    assert stalls.arrival_time(clock.now, lambda: 2 * SECOND) == clock.now
    assert stalls.arrival_time(clock.now, lambda: 0) == 20_000  # a player cannot gain more than the stall
    clock.now = 20_000 + LEAST_US
    assert stalls.arrival_time(clock.now, lambda: 0) == clock.now


def test_the_time_of_a_stall_that_is_not_charged_is_limited() -> None:
    clock = Clock()
    stalls = Stalls(clock)
    for _ in range(3):
        stalls.expect(0)
        clock.now += MOST_US // 2
        stalls.record_run()
    assert stalls.within(0, clock.now) == MOST_US
    stalls.expect(0)
    clock.now += 2 * MOST_US
    assert stalls.arrival_time(clock.now) == clock.now - MOST_US


async def test_a_question_is_not_lost_on_time_while_the_server_stands_still(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2):
        server.referee.add(unit(conditions("mnk:1,1,1", time=f"{LIMIT}/move"), 1))
        await first.next_questions()
        server.referee.stalls.expect(0)
        await leap(3 * LIMIT)
        assert server.finished == []
        assert server.referee.stalls.excused >= 1
        server.referee.stalls.record_run()
        await first.send((1, 0, 0))
        (game,) = await server.finished_games(1)
        assert game.termination == Termination.LINE
        assert unpack_times(game.times)[0] < LIMIT * SECOND


async def test_a_bot_is_charged_for_a_stall_during_which_it_thinks(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2):
        server.referee.add(unit(conditions("mnk:1,1,1", time="10/move"), 1))
        await first.next_questions()
        server.referee.stalls.expect(1)
        await leap(2 * LIMIT)
        server.referee.stalls.record_run()
        await leap(0.02)
        server.referee.stalls.record_run()
        await first.send((1, 0, 0))
        (game,) = await server.finished_games(1)
        assert unpack_times(game.times)[0] >= 2 * LIMIT * SECOND


async def test_a_bot_late_by_itself_loses_despite_a_stall(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2):
        server.referee.add(unit(conditions("mnk:1,1,1", time=f"{LIMIT}/move"), 1))
        await first.next_questions()
        server.referee.stalls.expect(0)
        await leap(LIMIT)
        server.referee.stalls.record_run()
        server.referee.stalls.expect(3 * LIMIT)
        await leap(LIMIT + 1)
        (game,) = await server.finished_games(1)
        assert game.termination == Termination.TIMEOUT
