"""Options of time controls."""

from typing import Annotated

from typer import Option

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
