"""Texts of the two clocks of a game, with a time that the test moves."""

import time
from collections.abc import Callable

from noughts_bots.sdk.bot import TimeLimits
from noughts_server.cli.screens.clocks import Clocks


class ManualTime:
    """A source of time in seconds."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def equal_clocks(limits: TimeLimits, running: int, get_time: Callable[[], float] = time.monotonic) -> Clocks:
    """The clocks of two players with the same limits."""
    return Clocks((limits, limits), running, get_time)


def test_only_the_clock_of_the_side_to_move_runs() -> None:
    clock_time = ManualTime()
    clocks = equal_clocks(TimeLimits(bank=60, increment=2), running=1, get_time=clock_time)
    clock_time.now += 5
    assert (clocks.text(0), clocks.text(1)) == ("1:00", "0:55")
    clocks.start_turn(60, 57)
    clock_time.now += 10
    assert (clocks.text(0), clocks.text(1)) == ("0:50", "0:57")
    clocks.end_turn()
    clock_time.now += 3
    assert (clocks.text(0), clocks.text(1)) == ("0:52", "0:54")


def test_a_limit_per_move_starts_again_with_each_move() -> None:
    clock_time = ManualTime()
    clocks = equal_clocks(TimeLimits(move=30), running=0, get_time=clock_time)
    clock_time.now += 29.5
    assert clocks.text(0) == "0.5 s"
    clocks.end_turn()
    assert clocks.text(0) == "0:30"


def test_side_to_move_shows_base_time_and_limit_per_move() -> None:
    clock_time = ManualTime()
    clocks = equal_clocks(TimeLimits(bank=60, move=20), running=0, get_time=clock_time)
    clock_time.now += 5
    assert (clocks.text(0), clocks.text(1)) == ("0:55 / 0:15", "1:00")
    clocks.end_turn()
    clocks.start_turn(14, 60)
    clock_time.now += 9
    assert clocks.text(0) == "5.0 s / 5.0 s"
    clocks.stop()
    assert clocks.text(0) == "5.0 s"


def test_clocks_stop_with_the_game_and_never_show_less_than_zero() -> None:
    clock_time = ManualTime()
    clocks = equal_clocks(TimeLimits(bank=1), running=0, get_time=clock_time)
    clock_time.now += 5
    clocks.stop()
    clock_time.now += 5
    assert clocks.text(0) == "0.0 s"
    assert not equal_clocks(TimeLimits(), running=0).is_limited


def test_each_player_has_a_clock_of_its_own_limits() -> None:
    clock_time = ManualTime()
    clocks = Clocks((TimeLimits(bank=60, increment=5), TimeLimits()), running=0, get_time=clock_time)
    clock_time.now += 20
    clocks.end_turn()
    clock_time.now += 20
    assert (clocks.text(0), clocks.text(1)) == ("0:45", "no limit")
    assert clocks.is_limited
