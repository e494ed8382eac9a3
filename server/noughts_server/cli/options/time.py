"""Options of time controls."""

from collections.abc import Sequence
from typing import Annotated

from typer import Option

from noughts_referee.clock import MARGIN_US, TimeControl, TimeControlError, parse_time_control
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.labels import by_label
from noughts_server.cli.times import read_seconds

TimeOption = Annotated[
    str,
    Option(
        "--time",
        metavar="T",
        help="Time: `none`, `60+0.5` (base + increment, s), `1/move` or both (`180/30+0`)",
        rich_help_panel="Time control",
    ),
]
TimeOfPlayerOption = Annotated[
    list[str] | None,
    Option(
        "--time-of",
        metavar="LABEL=T",
        help="Time control of one player, e.g. `you=60+1` (repeatable)",
        rich_help_panel="Time control",
    ),
]
TimeClassOption = Annotated[
    str | None,
    Option(
        "--time-class",
        metavar="CLASS",
        help="Class: untimed, bullet, blitz, rapid, classical. Default: a class that has games",
        rich_help_panel="Time control",
    ),
]


_LONGEST_MARGIN_SECONDS = 60
DEFAULT_MARGIN = f"{MARGIN_US // 1_000}ms"
"""The default of `--margin` of servers and referees."""

TournamentMarginOption = Annotated[
    str,
    Option(
        "--margin",
        metavar="DURATION",
        help="Time by which a move can exceed its limit. Default: the server's",
        rich_help_panel="Time control",
    ),
]
LocalMarginOption = Annotated[
    str,
    Option(
        "--margin",
        metavar="DURATION",
        help="Time by which a move can exceed its limit. Default: 50ms, engines 1s",
        rich_help_panel="Time control",
    ),
]


def read_time(text: str, option: str = "--time") -> TimeControl:
    """Return the time control, e.g. of `60+0.5`. Raises UsageProblem."""
    try:
        return parse_time_control(text)
    except TimeControlError as error:
        raise UsageProblem(f"{option} {error.got!r}: expected {error.expected}") from error


def read_times_of(texts: list[str] | None, labels: Sequence[str] | None = None) -> dict[str, TimeControl]:
    """Return the time controls of `LABEL=T` by label. `labels` are those that exist; None if they are not known yet.

    Raises UsageProblem.
    """
    times = by_label(texts, "--time-of", "LABEL=T, the name of a bot and its value", labels)
    return {label: read_time(text, f"--time-of {label}") for label, text in times.items()}


def read_times_of_two(texts: list[str] | None, challenger: str, opponent: str) -> dict[str, TimeControl]:
    """Return the time controls of a challenge by bot; `you` means the challenger's bot. Raises UsageProblem."""
    times = read_times_of(texts, ("you", challenger, opponent))
    return {challenger if name == "you" else name: time for name, time in times.items()}


def read_margins_of(texts: list[str] | None, labels: Sequence[str]) -> dict[str, int]:
    """Return the time margins of `LABEL=TIME` by label, in microseconds; `labels` exist. Raises UsageProblem."""
    margins = by_label(texts, "--margin-of", "LABEL=TIME, the name of a bot and its value", labels)
    return {label: read_margin(text, f"--margin-of {label}") for label, text in margins.items()}


def read_margin(text: str, option: str = "--margin") -> int:
    """Return the microseconds of `50ms`, `0.05s` or `0.05`. Raises UsageProblem."""
    microseconds = round(read_seconds(text) * 1e6)
    if not 0 <= microseconds <= _LONGEST_MARGIN_SECONDS * 1_000_000:
        raise UsageProblem(
            f"{option} {text!r}: expected milliseconds, e.g. `50ms`, or seconds, e.g. `0.05`, at most "
            f"{_LONGEST_MARGIN_SECONDS} s"
        )
    return microseconds


def read_tournament_margin(text: str) -> int:
    """Return the milliseconds of a tournament's `--margin`; 0 for an empty text. Raises UsageProblem."""
    if not text:
        return 0
    milliseconds = read_margin(text) // 1000
    if not milliseconds:
        raise UsageProblem(f"--margin {text!r}: expected at least 1ms. Fix: leave it out for the server's time margin.")
    return milliseconds
