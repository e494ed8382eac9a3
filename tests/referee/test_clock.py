"""Time controls: reading, writing, classes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.clock import TimeControl, TimeControlError, clocks_after, parse_time_control
from tests.support.settings import examples

SECOND = 1_000_000
WEEK = 7 * 24 * 3600 * SECOND


@pytest.mark.parametrize(
    "text, control",
    [
        ("none", TimeControl()),
        (" none ", TimeControl()),
        ("60+0.5", TimeControl(bank_us=60 * SECOND, increment_us=SECOND // 2)),
        ("60", TimeControl(bank_us=60 * SECOND)),
        ("60+0", TimeControl(bank_us=60 * SECOND)),
        (" 1.5 + 2 ", TimeControl(bank_us=3 * SECOND // 2, increment_us=2 * SECOND)),
        ("1/move", TimeControl(move_us=SECOND)),
        ("0.000001/move", TimeControl(move_us=1)),
        ("604800/move", TimeControl(move_us=WEEK)),
        ("180/30+0", TimeControl(move_us=30 * SECOND, bank_us=180 * SECOND)),
        ("180/30", TimeControl(move_us=30 * SECOND, bank_us=180 * SECOND)),
        (" 60 / 2.5 + 0.5 ", TimeControl(move_us=5 * SECOND // 2, bank_us=60 * SECOND, increment_us=SECOND // 2)),
        ("1/2", TimeControl(move_us=2 * SECOND, bank_us=SECOND)),
    ],
)
def test_time_controls_are_read(text: str, control: TimeControl) -> None:
    assert parse_time_control(text) == control


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "`none`"),
        ("fast", "`none`"),
        ("None", "`none`"),
        ("/move", "`none`"),
        ("1/game", "`none`"),
        ("1/move/", "`none`"),
        ("180/30/move", "`none`"),
        ("180/30/5", "`none`"),
        ("180/+5", "`none`"),
        ("180/30+", "`none`"),
        ("180/0", "more than zero"),
        ("0/30", "more than zero"),
        ("180/-1+5", "no negative"),
        ("180/30+-1", "no negative"),
        ("180/604801", "at most a week"),
        ("1+", "`none`"),
        ("+1", "`none`"),
        ("1+2+3", "`none`"),
        ("nan", "`none`"),
        ("inf/move", "`none`"),
        ("0", "more than zero"),
        ("0/move", "more than zero"),
        ("0+5", "more than zero"),
        ("0.0000001/move", "more than zero"),
        ("-1/move", "no negative"),
        ("60+-1", "no negative"),
        ("-60+1", "no negative"),
        ("604800.1/move", "at most a week"),
        ("1+604801", "at most a week"),
        ("1e300", "at most a week"),
    ],
)
def test_a_wrong_time_control_is_refused_with_the_expected_form(text: str, expected: str) -> None:
    with pytest.raises(TimeControlError) as raised:
        parse_time_control(text)
    assert raised.value.got == text
    assert expected in raised.value.expected


controls = st.one_of(
    st.just(TimeControl()),
    st.builds(TimeControl, move_us=st.integers(1, WEEK)),
    st.builds(
        TimeControl,
        bank_us=st.integers(1, WEEK),
        increment_us=st.integers(0, WEEK),
        move_us=st.one_of(st.just(0), st.integers(1, WEEK)),
    ),
)


@examples(300)
@given(controls)
def test_a_time_control_is_read_back_from_its_text_to_the_microsecond(control: TimeControl) -> None:
    assert parse_time_control(str(control)) == control


@pytest.mark.parametrize("text", ["none", "1/move", "0.5/move", "60+0", "60+0.5", "100+10", "180/30+0", "5/0.5+0.1"])
def test_canonical_time_controls_are_written_unchanged(text: str) -> None:
    assert str(parse_time_control(text)) == text


@pytest.mark.parametrize(
    "text, time_class",
    [
        ("none", "untimed"),
        ("1/move", "bullet"),
        ("60+1", "bullet"),
        ("179.999", "bullet"),
        ("180", "blitz"),
        ("180+2", "blitz"),
        ("4.5/move", "blitz"),
        ("300+5", "rapid"),
        ("900+10", "rapid"),
        ("1500", "classical"),
        ("60/move", "classical"),
        ("180/30+0", "blitz"),
        ("900/1+10", "bullet"),
        ("900/60+10", "rapid"),
    ],
)
def test_the_time_class_follows_from_the_time_for_forty_moves(text: str, time_class: str) -> None:
    assert parse_time_control(text).time_class == time_class


def test_only_the_control_without_limits_is_untimed() -> None:
    assert not TimeControl().timed
    assert TimeControl(move_us=1).timed
    assert TimeControl(bank_us=1).timed


@pytest.mark.parametrize(
    "text, times, left",
    [
        ("10+2", [], (10, 10)),
        ("10+2", [3], (9, 10)),
        ("10+2", [3, 4, 9.01], (2, 8)),
        ("1/move", [0.5, 1, 0], (1, 1)),
        ("5", [5], (0, 5)),
        ("10/4+1", [4, 0.5, 4], (4, 10.5)),
    ],
)
def test_a_clock_gains_the_increment_and_a_move_limit_stays(
    text: str, times: list[float], left: tuple[int, int]
) -> None:
    clocks = clocks_after([parse_time_control(text)] * 2, [round(seconds * SECOND) for seconds in times])
    assert clocks == (left[0] * SECOND, left[1] * SECOND)


@pytest.mark.parametrize(
    "text, left, limit",
    [("1/move", 1, 1), ("60+1", 45, 45), ("180/30+0", 180, 30), ("180/30+0", 30, 30), ("9/30", 9, 9)],
)
def test_a_moves_limit_is_the_lesser_of_clock_and_move_time(text: str, left: int, limit: int) -> None:
    assert parse_time_control(text).limit_us(left * SECOND) == limit * SECOND


def test_each_side_is_charged_by_its_own_time_control() -> None:
    times = [3 * SECOND, 400_000, 2 * SECOND]
    assert clocks_after([parse_time_control("10+1"), parse_time_control("0.5/move")], times) == (
        7 * SECOND,
        SECOND // 2,
    )
    assert clocks_after([None, parse_time_control("2")], times) == (None, 1_600_000)
    assert clocks_after([None, None], times) == (None, None)
