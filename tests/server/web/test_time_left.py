"""The time that a running tournament still takes, as its page estimates it."""

from datetime import UTC, datetime, timedelta

import pytest

from noughts_server.web.time_left import minutes_left

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(*minutes: float) -> list[datetime]:
    return [START + timedelta(minutes=each) for each in minutes]


@pytest.mark.parametrize(
    "done, expected, minutes",
    [(4, 40, None), (5, 60, None), (6, 60, 60), (10, 60, 45), (40, 60, 20), (59, 60, 1), (60, 60, None), (9, 0, None)],
)
def test_time_left_follows_from_the_pace_since_the_start(done: int, expected: int, minutes: int | None) -> None:
    ends = at(*range(1, done + 1))
    assert minutes_left(START, ends, done, expected, ends[-1]) == minutes


def test_quick_games_at_the_end_hardly_change_the_time_left() -> None:
    ends = [*at(*range(1, 31)), *at(30.1, 30.2, 30.3, 30.4)]
    assert minutes_left(START, ends[:30], 30, 60, ends[29]) == 30
    assert minutes_left(START, ends, 34, 60, ends[-1]) == 20


def test_pauses_do_not_count() -> None:
    ends = at(1, 2, 3, 4, 5, 605, 606, 607, 608, 609)
    assert minutes_left(START, ends, 10, 30, ends[-1] + timedelta(hours=3)) == 20


def test_slow_games_are_no_pauses() -> None:
    ends = at(*range(20, 201, 20))
    assert minutes_left(START, ends, 10, 16, ends[-1]) == 120


def test_without_the_start_the_ends_of_games_give_the_pace() -> None:
    ends = at(*range(100, 120))
    assert minutes_left(None, ends, 20, 40, ends[-1]) == 20
    # The list has only the last of the games.
    assert minutes_left(START, ends, 200, 220, ends[-1]) == 20


def test_long_times_are_whole_days() -> None:
    ends = at(*range(60, 601, 60))
    assert minutes_left(START, ends, 10, 100, ends[-1]) == 4 * 1440
