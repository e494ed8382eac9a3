"""Durations and times: how users write them, and how commands print them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.times import from_now, read_duration, read_moment

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    "text, length",
    [
        ("30d", timedelta(days=30)),
        ("1.5h", timedelta(minutes=90)),
        ("10m", timedelta(minutes=10)),
        ("90 s", timedelta(seconds=90)),
    ],
)
def test_durations_have_a_unit(text: str, length: timedelta) -> None:
    assert read_duration(text, "--expires") == length


@pytest.mark.parametrize("text", ["", "30", "d", "0d", "-1d", "1y", "1e9d", "999999999w"])
def test_invalid_duration_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageProblem, match="--expires"):
        read_duration(text, "--expires")


def test_times_are_iso_or_relative_to_now() -> None:
    assert read_moment("2026-03-01T17:00Z", "--start-at") == datetime(2026, 3, 1, 17, tzinfo=UTC)
    assert read_moment("2026-03-01T17:00", "--start-at") == datetime(2026, 3, 1, 17).astimezone()
    ahead = read_moment("+10m", "--start-at") - datetime.now(UTC)
    assert timedelta(minutes=9) < ahead <= timedelta(minutes=10)
    with pytest.raises(UsageProblem, match="--start-at"):
        read_moment("tomorrow", "--start-at")


@pytest.mark.parametrize(
    "milliseconds, text",
    [(9 * 60_000, "in 9 min"), (45_000, "in 45 s"), (-3 * 3_600_000, "3 h ago"), (50 * 3_600_000, "in 2 days")],
)
def test_time_from_now_is_written_in_one_unit(milliseconds: int, text: str) -> None:
    assert from_now(NOW + milliseconds, NOW) == text
