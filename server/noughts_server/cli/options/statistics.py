"""Options of tests and fits."""

import math
from contextlib import suppress
from typing import Annotated

from typer import Option

from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.labels import by_label

SprtOption = Annotated[
    str | None,
    Option(
        "--sprt",
        metavar="elo0=E,elo1=E",
        help="Test that ends it; also alpha=P, beta=P, model=normalized",
        rich_help_panel="Statistics",
    ),
]
FitOption = Annotated[
    bool,
    Option(
        "--fit",
        help="Ratings fitted to all games, with 95 % intervals and first-move advantage",
        rich_help_panel="Statistics",
    ),
]
AnchorOption = Annotated[
    list[str] | None,
    Option(
        "--anchor",
        metavar="NAME=RATING",
        help="Fixed rating of a bot (repeatable). Default: the mean is 1500",
        rich_help_panel="Statistics",
    ),
]


_LARGEST_RATING = 100_000


def read_anchors(texts: list[str] | None) -> dict[str, float]:
    """Return the ratings that a fit keeps fixed, from `NAME=RATING`, by name. Raise UsageProblem."""
    expected = "NAME=RATING, e.g. `minimax=2000`"
    anchors: dict[str, float] = {}
    for name, text in by_label(texts, "--anchor", expected, None).items():
        with suppress(ValueError):
            anchors[name] = float(text)
        if not abs(anchors.get(name, math.nan)) <= _LARGEST_RATING:
            raise UsageProblem(f"--anchor {f'{name}={text}'!r}: expected {expected}")
    return anchors
