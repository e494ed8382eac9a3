"""The network's share of a move's time is measured, and not charged, up to a cap."""

from collections.abc import AsyncIterator

import pytest

from noughts_referee.round_trips import RoundTrips
from noughts_referee.rules import Termination
from noughts_referee.work_units import Allowance, unpack_allowances, unpack_times
from tests.support.games import conditions, unit
from tests.support.leaping_loop import leap
from tests.support.loopback import Loopback, RawBot, loopback, raw_bot, wait_until

SECOND, CAP_US, MARGIN_US = 1_000_000, 1_000_000, 200_000
SLACK_US = 400_000
"""The most that this machine may add to a time that leaps."""


def measured(trips: RoundTrips, took_us: int, *, busy: bool = False) -> int:
    trips.record_sent(0)
    trips.record_echo(took_us, busy=busy)
    return trips.credit_us


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback(network_cap_us=CAP_US, margin_us=MARGIN_US) as server:
        yield server


async def far_away(server: Loopback, bot: RawBot, seconds: float) -> None:
    """Let bot-1 echo its first heartbeat so much later; return once the server has measured it."""
    while not (frame := await bot.frame()).heartbeat.id:
        pass
    await leap(seconds)
    await bot.send(heartbeat=frame.heartbeat.id)
    await wait_until(lambda: server.referee.player(1).network_us)


def test_the_shortest_of_the_latest_counts_and_no_more_than_the_cap() -> None:
    trips = RoundTrips(CAP_US)
    assert trips.credit_us == 0
    assert measured(trips, 3 * CAP_US) == CAP_US
    assert measured(trips, 70_000) == 70_000
    assert measured(trips, 90_000) == 70_000
    for _ in range(7):
        measured(trips, 80_000)
    assert trips.credit_us == 80_000


def test_an_echo_that_may_have_waited_for_a_move_lengthens_nothing() -> None:
    trips = RoundTrips(CAP_US)
    assert measured(trips, 50_000, busy=True) == 0
    assert measured(trips, 20_000) == 20_000
    for _ in range(9):
        assert measured(trips, 50_000, busy=True) == 20_000
    assert measured(trips, 10_000, busy=True) == 10_000


async def test_a_move_delayed_by_the_network_is_in_time(server: Loopback) -> None:
    async with raw_bot(server, 1) as far, raw_bot(server, 2):
        assert far.welcome.welcome.network_cap_us == CAP_US
        await far_away(server, far, 0.8)
        server.referee.add(unit(conditions("mnk:1,1,1", time="2/move"), 1))
        await far.asked()
        await leap(2.4)
        await far.send((1, 0, 0))
        (game,) = await server.played(1)
    assert game.termination == Termination.LINE
    (took,) = unpack_times(game.times)
    assert 2.4 * SECOND - CAP_US <= took < 1.6 * SECOND + SLACK_US
    assert game.allowances is not None
    first, second = unpack_allowances(game.allowances)
    assert 800_000 <= first.network_us <= CAP_US
    assert first.margin_us == second.margin_us == MARGIN_US
    assert second.network_us == 0  # it has echoed nothing


async def test_who_delays_its_echoes_gains_the_cap_and_nothing_beyond(server: Loopback) -> None:
    async with raw_bot(server, 1) as slow, raw_bot(server, 2):
        await far_away(server, slow, 1.5)
        server.referee.add(unit(conditions("mnk:1,1,1", time="2/move"), 1))
        await slow.asked()
        await leap(2 + (CAP_US + MARGIN_US) / SECOND)
        (game,) = await server.played(1)
    assert game.termination == Termination.TIMEOUT
    assert unpack_allowances(game.allowances or b"")[0] == Allowance(CAP_US, MARGIN_US)


async def test_games_without_clocks_know_no_allowances(server: Loopback) -> None:
    async with raw_bot(server, 1) as first, raw_bot(server, 2):
        server.referee.add(unit(conditions("mnk:1,1,1"), 1))
        await first.asked()
        await first.send((1, 0, 0))
        (game,) = await server.played(1)
    assert game.allowances is None
