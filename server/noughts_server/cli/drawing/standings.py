"""Standings, as JSON and as a table."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from noughts_server.cli.output import points, rating, table

if TYPE_CHECKING:
    from rich.table import Table


class StandingRow(Protocol):
    """One entry's line."""

    @property
    def label(self) -> str: ...
    @property
    def wins(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def losses(self) -> int: ...
    @property
    def points(self) -> float: ...
    @property
    def rating(self) -> float | None: ...


def standings_document(standings: Iterable[StandingRow]) -> list[dict[str, Any]]:
    """`[{"name", "wins", "draws", "losses", "points", "rating"}]`; no rating is null."""
    return [
        {
            "name": row.label,
            "wins": row.wins,
            "draws": row.draws,
            "losses": row.losses,
            "points": row.points,
            "rating": row.rating,
        }
        for row in standings
    ]


def standings_table(standings: Sequence[StandingRow]) -> "Table":
    """The same for people."""
    columns = (">#", "bot", ">points", ">wins", ">draws", ">losses", ">rating")
    rows = (
        (number, row.label, points(row.points), row.wins, row.draws, row.losses, rating(row.rating))
        for number, row in enumerate(standings, start=1)
    )
    return table(columns, rows)
