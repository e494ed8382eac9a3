"""The server measures the time that messages take, and does not charge it to the bot, up to a cap."""

from collections.abc import AsyncIterator

import pytest

from noughts_referee.round_trips import RoundTrips
from noughts_referee.rules import Termination
from noughts_referee.work_units import Allowance, unpack_allowances, unpack_times
from tests.support.games import conditions, unit
from tests.support.leaping_loop import leap
from tests.support.loopback import Loopback, RawBot, loopback, raw_bot, wait_until

SECOND, CAP_US, MARGIN_US = 1_000_000, 2_000_000, 1_000_000
SLACK_US = 1_400_000
"""The test's own processing takes at most this long, in addition to the time that leaps."""


def credit_after(trips: RoundTrips, took_us: int, *, busy: bool = False) -> int:
    """Record a round trip, and return the credit of the next move in microseconds."""
    trips.record_sent(0)
    trips.record_echo(took_us, busy=busy)
    return trips.credit_us


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback(network_cap_us=CAP_US, margin_us=MARGIN_US) as server:
        yield server


async def delay_first_echo(server: Loopback, bot: RawBot, seconds: float) -> None:
    """Let bot-1 echo its first heartbeat after these seconds, and return when the server has measured it."""
    while not (frame := await bot.next_frame()).heartbeat.id:
        pass
    await leap(seconds)
    await bot.send(heartbeat=frame.heartbeat.id)
    await wait_until(lambda: server.referee.player(1).network_us)


def test_the_shortest_recent_round_trip_counts_up_to_the_cap() -> None:
    trips = RoundTrips(CAP_US)
    assert trips.credit_us == 0
    assert credit_after(trips, 3 * CAP_US) == CAP_US
    assert credit_after(trips, 70_000) == 70_000
    assert credit_after(trips, 90_000) == 70_000
    for _ in range(7):
        credit_after(trips, 80_000)
    assert trips.credit_us == 80_000


def test_an_echo_of_a_busy_bot_never_raises_the_credit() -> None:
    trips = RoundTrips(CAP_US)
    assert credit_after(trips, 50_000, busy=True) == 0
    assert credit_after(trips, 20_000) == 20_000
    for _ in range(9):
        assert credit_after(trips, 50_000, busy=True) == 20_000
    assert credit_after(trips, 10_000, busy=True) == 10_000


async def test_a_move_delayed_by_the_network_is_in_time(server: Loopback) -> None:
    async with raw_bot(server, 1) as far, raw_bot(server, 2):
        assert far.welcome.welcome.network_cap_us == CAP_US
        await delay_first_echo(server, far, 1.6)
        server.referee.add(unit(conditions("mnk:1,1,1", time="2/move"), 1))
        await far.next_questions()
        await leap(3.2)
        await far.send((1, 0, 0))
        (game,) = await server.finished_games(1)
    assert game.termination == Termination.LINE
    (charged_us,) = unpack_times(game.times)
    assert 3.2 * SECOND - CAP_US <= charged_us < 1.6 * SECOND + SLACK_US
    assert game.allowances is not None
    first, second = unpack_allowances(game.allowances)
    assert 1_600_000 <= first.network_us <= CAP_US
    assert first.margin_us == second.margin_us == MARGIN_US
    assert second.network_us == 0  # bot-2 has not echoed a heartbeat


async def test_bot_that_delays_its_echoes_gains_at_most_the_cap(server: Loopback) -> None:
    async with raw_bot(server, 1) as slow, raw_bot(server, 2):
        await delay_first_echo(server, slow, 2.5)
        server.referee.add(unit(conditions("mnk:1,1,1", time="2/move"), 1))
        await slow.next_questions()
        await leap(2 + (CAP_US + MARGIN_US) / SECOND)
        (game,) = await server.finished_games(1)
    assert game.termination == Termination.TIMEOUT
    assert unpack_allowances(game.allowances or b"")[0] == Allowance(CAP_US, MARGIN_US)


async def test_untimed_games_have_no_allowances(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2):
        server.referee.add(unit(conditions("mnk:1,1,1"), 1))
        await first.next_questions()
        await first.send((1, 0, 0))
        (game,) = await server.finished_games(1)
    assert game.allowances is None
