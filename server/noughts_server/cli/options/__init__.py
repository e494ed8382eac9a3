"""Options that several commands share, and how their texts are read."""

import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

from typer import Argument, Option

from noughts_bots.reference.specs import BotSpec, parse_spec
from noughts_referee.clock import MARGIN_US, TimeControl, TimeControlError, parse_time_control
from noughts_referee.rules import OPENING_RULES, Variant, VariantError, first_common, parse_variant
from noughts_server.cli import completion
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.database import DatabaseOption as DatabaseOption
from noughts_server.cli.options.database import read_database as read_database
from noughts_server.cli.options.output import LimitOption as LimitOption
from noughts_server.cli.output import is_json
from noughts_server.cli.printing import note
from noughts_server.cli.times import read_seconds

_Row = TypeVar("_Row")
LARGEST_SEED = (1 << 64) - 1
_LONGEST_MARGIN_SECONDS = 60
_LARGEST_RATING = 100_000
MARGIN = f"{MARGIN_US // 1_000}ms"
"""The usual `--margin`."""

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

_ROWS_OF_TEXT = 50


LogLevel = StrEnum("LogLevel", ["DEBUG", "INFO", "WARNING", "ERROR"])
LogFormat = StrEnum("LogFormat", ["AUTO", "CONSOLE", "LOGFMT", "JSON"])

USUAL_VARIANT = "tictactoe"
"""The variant of commands with bots that declare none."""
AnyVariantOption = Annotated[
    str | None,
    Option(
        "--variant",
        metavar="V",
        autocompletion=completion.variants,
        help="Variant. Default: the first that the bot declares, else tictactoe",
        rich_help_panel="Game",
    ),
]
"""A variant, or none if the default depends on other options."""


VariantOption = Annotated[
    str,
    Option(
        "--variant",
        metavar="V",
        autocompletion=completion.variants,
        help="Variant, see `noughts variants`; `mnk:M,N,K`: M columns, N rows, K in a row",
        rich_help_panel="Game",
    ),
]
SpecArgument = Annotated[
    str,
    Argument(
        metavar="SPEC",
        help="Bot, e.g. `random`, `Old=minimax`, 'exec:python bot.py'",
        autocompletion=completion.specs,
    ),
]
ConcurrencyOption = Annotated[
    int,
    Option(
        "--concurrency",
        metavar="C",
        min=1,
        max=65_536,
        help="Maximum number of concurrent games",
        rich_help_panel="Game",
    ),
]
PacedConcurrencyOption = Annotated[
    int,
    Option(
        "--concurrency",
        metavar="C",
        min=0,
        max=65_536,
        help="Concurrent games; 0: follow the pace of the bots",
        rich_help_panel="Game",
    ),
]
NowOption = Annotated[bool, Option("--now", help="End running games now; they are played again after a resume")]


GamesDatabaseOption = Annotated[
    str | None,
    Option(
        "--db",
        metavar="URL",
        rich_help_panel="Output",
        help="Database to store the games in: file or SQLAlchemy URL. Default: none",
    ),
]


def limited(rows: Callable[[int | None], Iterable[_Row]], limit: int | None) -> Iterator[_Row]:
    """Yield the rows that --limit asks for; text ends with a note on stderr if there are more.

    `rows` returns at most the number of rows that it gets, None: all.
    """
    if is_json():
        yield from rows(limit)
        return
    most = limit or _ROWS_OF_TEXT
    for number, row in enumerate(rows(most + 1)):
        if number == most:
            note(f"There are more than {most}; --limit N prints N.")
            return
        yield row


GamesFileOption = Annotated[
    Path | None,
    Option(
        "-o",
        "--output",
        metavar="FILE",
        help="File for the games, one JSON object per line; `-`: stdout",
        rich_help_panel="Output",
    ),
]

EveryOption = Annotated[
    int | None,
    Option(
        "--every",
        metavar="N",
        min=1,
        max=1_000_000_000,
        help="Without a terminal: print the score to stderr every N games",
        rich_help_panel="Output",
    ),
]


def read_variant(text: str, opening: str | None = None, called: str = "--variant") -> Variant:
    """The variant of that name, with that rule for the opening. Raises UsageProblem."""
    if opening is not None and opening not in OPENING_RULES:
        raise UsageProblem(f"--opening-rule {opening!r}: expected {' or '.join(f'`{rule}`' for rule in OPENING_RULES)}")
    try:
        variant = parse_variant(text)
    except VariantError as error:
        raise UsageProblem(f"{called} {error.got!r}: expected {error.expected}") from error
    try:
        return variant if opening is None else parse_variant(f"{text}+{opening}")
    except VariantError as error:
        raise UsageProblem(f"--opening-rule {opening}: got --variant {text}, expected {error.expected}") from error


def own_variant(declared: Sequence[str]) -> Variant:
    """Return the variant of a command with one bot if none is given: the first of those that the bot declares.

    Raises UsageProblem if the bot declares only unknown variants.
    """
    known = first_common([declared])
    return read_variant(declared[0], called="variants of the bot:") if known is None else parse_variant(known)


def read_time(text: str, option: str = "--time") -> TimeControl:
    try:
        return parse_time_control(text)
    except TimeControlError as error:
        raise UsageProblem(f"{option} {error.got!r}: expected {error.expected}") from error


def read_times_of(texts: list[str] | None, labels: Sequence[str] | None = None) -> dict[str, TimeControl]:
    """The times written as `LABEL=T`, by label; `labels` are those there are, None if that is not known yet."""
    own = _by_label(texts, "--time-of", "LABEL=T, the name of a bot and its value", labels)
    return {label: read_time(text, f"--time-of {label}") for label, text in own.items()}


def read_times_of_two(texts: list[str] | None, own: str, opponent: str) -> dict[str, TimeControl]:
    """The same of the two bots of a challenge, by name; `you` means one's own."""
    times = read_times_of(texts, ("you", own, opponent))
    return {own if name == "you" else name: time for name, time in times.items()}


def read_margins_of(texts: list[str] | None, labels: Sequence[str]) -> dict[str, int]:
    """The margins written as `LABEL=TIME`, in microseconds, by label; `labels` are those there are."""
    own = _by_label(texts, "--margin-of", "LABEL=TIME, the name of a bot and its value", labels)
    return {label: read_margin(text, f"--margin-of {label}") for label, text in own.items()}


def read_anchors(texts: list[str] | None) -> dict[str, float]:
    """The ratings that a fit holds, written as `NAME=RATING`, by name. Raises UsageProblem."""
    expected = "NAME=RATING, e.g. `minimax=2000`"
    anchors: dict[str, float] = {}
    for name, text in _by_label(texts, "--anchor", expected, None).items():
        with suppress(ValueError):
            anchors[name] = float(text)
        if not abs(anchors.get(name, math.nan)) <= _LARGEST_RATING:
            raise UsageProblem(f"--anchor {f'{name}={text}'!r}: expected {expected}")
    return anchors


def _by_label(texts: list[str] | None, option: str, expected: str, labels: Sequence[str] | None) -> dict[str, str]:
    """The values of an option that is given for single bots. Raises UsageProblem, also for a bot that is not there."""
    own: dict[str, str] = {}
    for text in texts or ():
        # Labels may have a `=` of their own (`nextstep:depth=3`), values have none.
        label, _, own_value = text.rpartition("=")
        if not label:
            raise UsageProblem(f"{option} {text!r}: expected {expected}")
        if labels is not None and label not in labels:
            raise UsageProblem(
                f"{option} {text!r}: unknown bot {label!r}, expected one of {', '.join(labels)}",
                "Name a bot with LABEL=SPEC.",
            )
        if label in own:
            raise UsageProblem(f"{option} {text!r}: got {label!r} twice, expected each bot once")
        own[label] = own_value
    return own


def read_specs(texts: list[str]) -> tuple[BotSpec, ...]:
    """The bots written as `texts`; they can differ from what a variant allows, which shows when they are made."""
    return tuple(parse_spec(text) for text in texts)


def read_margin(text: str, option: str = "--margin") -> int:
    """Microseconds from `50ms`, `0.05s` or `0.05`."""
    microseconds = round(read_seconds(text) * 1e6)
    if not 0 <= microseconds <= _LONGEST_MARGIN_SECONDS * 1_000_000:
        raise UsageProblem(
            f"{option} {text!r}: expected milliseconds, e.g. `50ms`, or seconds, e.g. `0.05`, at most "
            f"{_LONGEST_MARGIN_SECONDS} s"
        )
    return microseconds


def read_tournament_margin(text: str) -> int:
    """Return the whole milliseconds of the `--margin` of a tournament at a server; 0 if there is none."""
    if not text:
        return 0
    milliseconds = read_margin(text) // 1000
    if not milliseconds:
        raise UsageProblem(f"--margin {text!r}: expected at least 1ms. Fix: leave it out for the server's time margin.")
    return milliseconds


def read_seed(seed: int | None, *, secret: bool = False) -> int:
    """The seed, or one drawn now: short enough to be typed again, or with `secret` so long that nobody finds it."""
    if seed is None:
        return secrets.randbits(64 if secret else 32)
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageProblem(f"--seed {seed}: expected 0 to {LARGEST_SEED}")
    return seed
