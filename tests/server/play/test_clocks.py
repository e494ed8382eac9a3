"""The clocks as they are shown, with an invented time."""

from noughts_bots.bot import TimeLimits
from noughts_server.play.clocks import Clocks


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_clock_of_whoever_is_to_move_runs() -> None:
    time = Time()
    clocks = Clocks(TimeLimits(bank=60, increment=2), running=1, get_time=time)
    time.now += 5
    assert (clocks.shown(0), clocks.shown(1)) == ("1:00", "0:55")
    clocks.asked(60, 57)
    time.now += 10
    assert (clocks.shown(0), clocks.shown(1)) == ("0:50", "0:57")
    clocks.answered()
    time.now += 3
    assert (clocks.shown(0), clocks.shown(1)) == ("0:52", "0:54")


def test_a_limit_of_a_move_is_there_again_for_the_next_one() -> None:
    time = Time()
    clocks = Clocks(TimeLimits(move=30), running=0, get_time=time)
    time.now += 29.5
    assert clocks.shown(0) == "0.5 s"
    clocks.answered()
    assert clocks.shown(0) == "0:30"


def test_with_a_bank_and_a_limit_of_a_move_whoever_is_to_move_sees_both() -> None:
    time = Time()
    clocks = Clocks(TimeLimits(bank=60, move=20), running=0, get_time=time)
    time.now += 5
    assert (clocks.shown(0), clocks.shown(1)) == ("0:55 / 0:15", "1:00")
    clocks.answered()
    clocks.asked(14, 60)
    time.now += 9
    assert clocks.shown(0) == "5.0 s / 5.0 s"
    clocks.stop()
    assert clocks.shown(0) == "5.0 s"


def test_clocks_stop_with_the_game_and_never_show_less_than_nothing() -> None:
    time = Time()
    clocks = Clocks(TimeLimits(bank=1), running=0, get_time=time)
    time.now += 5
    clocks.stop()
    time.now += 5
    assert clocks.shown(0) == "0.0 s"
    assert not Clocks(TimeLimits(), running=0).limited
