"""Times and durations as text: what users type, and what commands print."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from typer import BadParameter, Option

from noughts_server.cli.errors import UsageProblem

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d*)?|\.\d+)\s*(ms|s|m|min|h|d|w)?")
_LONGEST_SECONDS = 100 * 365 * 86_400
_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"))
"""Units, the largest first. A duration is printed in the first one of which it has at least two, else in seconds."""


class Seconds(float):
    """A duration that help and files show with its unit, e.g. `30s` or `50ms`."""

    def __str__(self) -> str:
        return f"{self * 1000:g}ms" if 0 < self < 1 else f"{self:g}s"


def read_seconds(text: str, bare_unit: str = "s") -> float:
    """Return the seconds of a duration such as `50ms`, `30s`, `10m`, `12h` or `30d`; -1 if the text is not a duration.

    A number without a unit has the `bare_unit`; if that is empty, it is not a duration.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        return -1
    unit = match[2] or bare_unit
    return float(match[1]) * _SECONDS[unit] if unit else -1


def seconds_option(*names: str, least: float, most: float, help: str, rich_help_panel: str | None = None) -> Any:
    """Return the option for a duration of `least` to `most` seconds; a number without a unit is seconds."""

    def read(text: object) -> Seconds:
        seconds = read_seconds(str(text))
        if not least <= seconds <= most:
            expected = f"a duration of {Seconds(least)} to {Seconds(most)}, e.g. `2s` or `500ms`"
            raise BadParameter(f"{str(text)!r}: expected {expected}")
        return Seconds(seconds)

    return Option(*names, metavar="DURATION", parser=read, help=help, rich_help_panel=rich_help_panel)


def read_duration(text: str, option: str) -> timedelta:
    """Return the duration of a text such as `30d`, `12h`, `10m` or `90s`. Raises UsageProblem."""
    seconds = read_seconds(text, bare_unit="")
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise UsageProblem(f"{option} {text!r}: expected a duration such as `30d`, `12h`, `10m` or `90s`")
    return timedelta(seconds=seconds)


def read_moment(text: str, option: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> datetime:
    """Return the time of a text in ISO 8601, or of `+10m`, which counts from `now`. Raises UsageProblem.

    A text without a time zone is in that of this machine.
    """
    if text.startswith("+"):
        return read_duration(text[1:], option) + now()
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageProblem(
            f"{option} {text!r}: expected a time such as `2026-03-01T18:00`, `2026-03-01T17:00Z` or `+10m`"
        ) from error


def milliseconds(moment: "Timestamp") -> int | None:
    """Return a time of a message in milliseconds since 1970; None if it is unset."""
    return moment.ToMilliseconds() if _is_set(moment) else None


def exact(moment: "Timestamp") -> str | None:
    """Return a time of a message in ISO 8601 in UTC, to the microsecond; None if it is unset."""
    return moment.ToDatetime(UTC).isoformat(timespec="microseconds") if _is_set(moment) else None


def _is_set(moment: "Timestamp") -> bool:
    """Return whether a message has this time: the server sends no time of the first nanosecond of 1970."""
    return bool(moment.seconds or moment.nanos)


def iso(milliseconds: int | None) -> str | None:
    """Return a time in ISO 8601 in UTC, to the second; None for None."""
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


def clock(milliseconds: int) -> str:
    """Return a time in this machine's time zone, e.g. `2026-03-01 18:00`."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone():%Y-%m-%d %H:%M}"


def now_ms() -> float:
    """Return the time now, in milliseconds since 1970."""
    return datetime.now(UTC).timestamp() * 1000


def from_now(milliseconds: int, now: float | None = None) -> str:
    """Return the distance of a time, e.g. `in 9 min` or `2 days ago`. `now` is in milliseconds since 1970, too."""
    seconds = (milliseconds - (now_ms() if now is None else now)) / 1000
    duration = length(abs(seconds))
    return f"in {duration}" if seconds >= 0 else f"{duration} ago"


def length(seconds: float) -> str:
    """Return a duration in the largest unit of which there are at least two, e.g. `90 s`, `2 min`, `30 h`."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
