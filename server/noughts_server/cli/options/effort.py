"""The limit of an exact search."""

from typing import Annotated

from typer import Option

EffortOption = Annotated[
    int,
    Option(
        "--effort",
        "--positions",
        metavar="N",
        min=1,
        max=10**7,
        help="Limit of the search: 1 for each position visited, or for 64 if compiled",
    ),
]
"""The largest effort for a value, or for the values of a game; see `Effort`."""
