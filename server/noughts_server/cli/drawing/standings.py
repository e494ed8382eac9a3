"""Standings, as JSON and as a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from rich.table import Table

from noughts_server.cli.output import count, picked, points, printable, rating, table
from noughts_server.tables.crosstable import Results
from noughts_server.tables.standings import PairScores, RankedEntry, ranked


class StandingRow(Results, Protocol):
    """An entry's row."""

    @property
    def label(self) -> str: ...
    @property
    def points(self) -> float: ...
    @property
    def rating(self) -> float | None: ...


class NotedRow(StandingRow, Protocol):
    """A row with byes and withdrawal."""

    @property
    def byes(self) -> int: ...
    @property
    def withdrawn_at(self) -> int | None: ...
    @property
    def withdrawn_reason(self) -> str: ...


Row = TypeVar("Row", bound=StandingRow)


class Ranking(NamedTuple, Generic[Row]):
    """Rows in order of rank, by the tie-breaks of `noughts_server.tables.standings`."""

    rows: list[Row]
    entries: Mapping[str, RankedEntry]


def rank(standings: Iterable[Row], scores: PairScores, *, in_order: bool = False) -> Ranking[Row]:
    """Rank by points, head to head, Sonneborn-Berger and wins, from all games' `scores`; `in_order`: keep the order."""
    lines = {row.label: row for row in standings}
    # The rest of the points comes from byes.
    byes = {label: row.points - row.wins - row.draws / 2 for label, row in lines.items()}
    entries = {entry.label: entry for entry in ranked(lines, scores, byes, list(lines) if in_order else None)}
    return Ranking([lines[label] for label in entries], entries)


def standings_document(
    standings: Iterable[NotedRow], ranks: Mapping[str, RankedEntry] | None = None
) -> list[dict[str, Any]]:
    """Return `[{"name", "wins", "draws", "losses", "points", "rating", "byes", "withdrawn"}]`.

    A missing rating is null; "withdrawn" is the reason, and null for an active entry.
    With the ranks also "rank", "head_to_head" (null if it does not count) and "sonneborn_berger".
    """
    return [
        {
            "name": row.label,
            **picked(row, "wins", "draws", "losses", "points", "rating", "byes"),
            "withdrawn": None if row.withdrawn_at is None else row.withdrawn_reason or "left",
            **(picked(ranks[row.label], "rank", "head_to_head", "sonneborn_berger") if ranks else {}),
        }
        for row in standings
    ]


def standings_table(standings: Sequence[StandingRow], ranks: Mapping[str, RankedEntry] | None = None) -> Table:
    """Return the table of the standings. Without the ranks, rows are numbered."""
    columns = (">#", "bot", ">points", ">wins", ">draws", ">losses", ">rating")
    rows = (
        (place, row.label, points(row.points), row.wins, row.draws, row.losses, rating(row.rating))
        for number, row in enumerate(standings, start=1)
        for place in (ranks[row.label].rank if ranks else number,)
    )
    return table(columns, rows)


def fault_line(label: str, faults: int) -> str:
    """Return e.g. `mybot lost 2 games by its own fault.`."""
    return f"{label} lost {count(faults, 'game')} by its own fault."


def standings_notes(standings: Sequence[NotedRow]) -> str:
    """Return lines on byes and withdrawn entries, which have no column; often empty."""
    byes = ", ".join(f"{printable(row.label)} {row.byes}" for row in standings if row.byes)
    left = (
        f"Withdrawn: {printable(row.label)}" + (f", {printable(row.withdrawn_reason)}" if row.withdrawn_reason else "")
        for row in standings
        if row.withdrawn_at is not None
    )
    return "\n".join([*([f"Byes, each as good as all games of an encounter won: {byes}"] if byes else []), *left])
