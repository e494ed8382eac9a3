"""Options of tests and fits."""

from typing import Annotated

from typer import Option

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
