"""Limits and timeouts of servers and referees."""

from typing import Annotated

from typer import Option

from noughts_referee.clock import RECONNECT_TIMEOUT_SECONDS
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.times import Seconds, read_duration, seconds_option
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.limits import INACTIVITY_TIMEOUT_SECONDS, Limits

RECONNECT_TIMEOUT = Seconds(RECONNECT_TIMEOUT_SECONDS)
"""The usual `--reconnect-timeout`."""
INACTIVITY_TIMEOUT = f"{INACTIVITY_TIMEOUT_SECONDS / 60:g}m"
"""The usual `--inactivity-timeout`."""

SetLimitOption = Annotated[
    list[str] | None,
    Option(
        "--set-limit",
        "--limit",
        metavar="NAME=NUMBER",
        help="Limit to change (docs/reference/limits.md; repeatable)",
    ),
]
ReconnectTimeoutOption = Annotated[
    float, seconds_option("--reconnect-timeout", "--grace", least=0, most=86_400, help="Reconnect timeout of a bot")
]
InactivityTimeoutOption = Annotated[
    str, Option("--inactivity-timeout", "--absence", metavar="DURATION", help="Inactivity timeout of an entry; 0: none")
]
DefaultMarginOption = Annotated[
    str,
    Option(
        "--margin",
        metavar="DURATION",
        help="Time by which a move can exceed its limit, e.g. `50ms`",
        rich_help_panel="Time control",
    ),
]


def read_limits(texts: list[str] | None) -> Limits:
    """Return the limits with the changes of `--set-limit`. Raises UsageProblem."""
    numbers: dict[str, int] = {}
    for text in texts or ():
        name, _, number = text.partition("=")
        if not (number.isascii() and number.isdecimal()):
            raise UsageProblem(f"--set-limit {text!r}: expected NAME=NUMBER, e.g. sessions=1000")
        numbers[name] = int(number)
    with problems_with("--set-limit", InvalidArgument):
        return Limits().with_changes(**numbers)


def read_inactivity_timeout(text: str) -> float:
    """Return the seconds of `--inactivity-timeout`; 0: none. Raises UsageProblem."""
    return 0.0 if text == "0" else read_duration(text, "--inactivity-timeout").total_seconds()
