"""The clocks as they are shown, with an invented time."""

import time
from collections.abc import Callable

from noughts_bots.sdk.bot import TimeLimits
from noughts_server.cli.screens.clocks import Clocks


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def both(limits: TimeLimits, running: int, get_time: Callable[[], float] = time.monotonic) -> Clocks:
    """The clocks of two players with the same limits."""
    return Clocks((limits, limits), running, get_time)


def test_the_clock_of_whoever_is_to_move_runs() -> None:
    now = Time()
    clocks = both(TimeLimits(bank=60, increment=2), running=1, get_time=now)
    now.now += 5
    assert (clocks.text(0), clocks.text(1)) == ("1:00", "0:55")
    clocks.start_turn(60, 57)
    now.now += 10
    assert (clocks.text(0), clocks.text(1)) == ("0:50", "0:57")
    clocks.end_turn()
    now.now += 3
    assert (clocks.text(0), clocks.text(1)) == ("0:52", "0:54")


def test_a_limit_of_a_move_is_there_again_for_the_next_one() -> None:
    now = Time()
    clocks = both(TimeLimits(move=30), running=0, get_time=now)
    now.now += 29.5
    assert clocks.text(0) == "0.5 s"
    clocks.end_turn()
    assert clocks.text(0) == "0:30"


def test_with_a_bank_and_a_limit_of_a_move_whoever_is_to_move_sees_both() -> None:
    now = Time()
    clocks = both(TimeLimits(bank=60, move=20), running=0, get_time=now)
    now.now += 5
    assert (clocks.text(0), clocks.text(1)) == ("0:55 / 0:15", "1:00")
    clocks.end_turn()
    clocks.start_turn(14, 60)
    now.now += 9
    assert clocks.text(0) == "5.0 s / 5.0 s"
    clocks.stop()
    assert clocks.text(0) == "5.0 s"


def test_clocks_stop_with_the_game_and_never_show_less_than_nothing() -> None:
    now = Time()
    clocks = both(TimeLimits(bank=1), running=0, get_time=now)
    now.now += 5
    clocks.stop()
    now.now += 5
    assert clocks.text(0) == "0.0 s"
    assert not both(TimeLimits(), running=0).is_limited


def test_players_with_limits_of_their_own_see_their_own() -> None:
    now = Time()
    clocks = Clocks((TimeLimits(bank=60, increment=5), TimeLimits()), running=0, get_time=now)
    now.now += 20
    clocks.end_turn()
    now.now += 20
    assert (clocks.text(0), clocks.text(1)) == ("0:45", "no limit")
    assert clocks.is_limited
