"""The speed of a machine, and the factor by which it multiplies times."""

from itertools import accumulate, chain

import pytest

from noughts_referee.clock import parse_time_control
from noughts_referee.machine_speed import (
    REFERENCE_LOOPS_PER_SECOND,
    is_out_of_range,
    loop,
    machine_speed,
    measured_speed,
    time_factor,
)


def test_the_work_is_the_same_on_every_machine() -> None:
    # 1 position before the first move, then 9, 72, 504 and 3,024 after it. After five moves the games that ended
    # before do not continue: 15,120.
    assert loop() == 1 + 9 + 72 + 504 + 3_024 + 15_120


def test_speed_is_that_of_the_median_loop() -> None:
    usual = 2 / REFERENCE_LOOPS_PER_SECOND
    durations = [usual, 50 * usual, usual, usual / 10, usual, 9 * usual, usual, usual, 7 * usual, usual, usual]
    moments = iter(accumulate(chain.from_iterable((0.0, duration) for duration in durations)))
    assert measured_speed(lambda: next(moments)) == pytest.approx(0.5)


def test_speed_is_measured_once_in_a_process() -> None:
    assert machine_speed() == machine_speed() > 0


@pytest.mark.parametrize(
    "speed, factor, is_outside",
    [
        (1.0, 1.0, False),
        (2.0, 0.5, False),
        (3.0, 0.333, False),
        (0.25, 4.0, False),
        (9.0, 0.25, True),
        (0.1, 4.0, True),
    ],
)
def test_factor_is_bounded(speed: float, factor: float, is_outside: bool) -> None:
    assert time_factor(speed) == factor
    assert is_out_of_range(speed) is is_outside


@pytest.mark.parametrize(
    "text, factor, scaled",
    [
        ("60+0.5", 2.0, "120+1"),
        ("1/move", 0.333, "0.333/move"),
        ("180/30+0", 0.25, "45/7.5+0"),
        ("0.000001/move", 0.25, "0.000001/move"),
        ("none", 4.0, "none"),
    ],
)
def test_all_times_of_a_control_are_scaled(text: str, factor: float, scaled: str) -> None:
    assert str(parse_time_control(text).scaled(factor)) == scaled
