"""Options of what is played."""

from typing import Annotated

from typer import Option

SeedOption = Annotated[
    int | None,
    Option(
        "--seed",
        metavar="S",
        help="Seed of all random numbers: same seed, same games. Default: a random seed",
        rich_help_panel="Game",
    ),
]
OpeningRuleOption = Annotated[
    str | None,
    Option(
        "--opening-rule",
        metavar="RULE",
        help="Opening rule: `pro`, `long-pro`, `swap` or `swap2`. Default: none",
        rich_help_panel="Game",
    ),
]
TitleOption = Annotated[str, Option("--title", help="Title of the tournament", rich_help_panel="Output")]
DryRunOption = Annotated[
    bool,
    Option(
        "--dry-run",
        help="Show the number of games and the expected duration, without playing",
        rich_help_panel="Output",
    ),
]
