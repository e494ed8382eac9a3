"""Standings, as JSON and as a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table

from noughts_server.cli.output import count, picked, points, printable, rating, table
from noughts_server.tables.standings import PairScores, RankedEntry, Standing, ranked


class Ranking(NamedTuple):
    """Rows in order of rank, by the tie-breaks of `noughts_server.tables.standings`."""

    rows: list[Standing]
    entries: Mapping[str, RankedEntry]


def rank(standings: Iterable[Standing], scores: PairScores, *, in_order: bool = False) -> Ranking:
    """Rank by points, head-to-head score, Sonneborn-Berger and wins, from all `scores`; `in_order`: keep the order."""
    lines = {row.label: row for row in standings}
    byes = {label: row.bye_points for label, row in lines.items()}
    entries = {entry.label: entry for entry in ranked(lines, scores, byes, list(lines) if in_order else None)}
    return Ranking([lines[label] for label in entries], entries)


def standings_document(
    standings: Iterable[Standing], ranks: Mapping[str, RankedEntry] | None = None
) -> list[dict[str, Any]]:
    """Return `[{"name", "wins", "draws", "losses", "points", "rating", "byes", "withdrawn"}]`.

    A missing rating is null; "withdrawn" is the reason, and null for an active entry.
    With the ranks also "rank", "head_to_head" (null if it does not count) and "sonneborn_berger".
    """
    return [
        {
            "name": row.label,
            **picked(row, "wins", "draws", "losses", "points", "rating", "byes"),
            "withdrawn": None if row.withdrawn_at is None else row.withdrawn_reason or "on request",
            **(picked(ranks[row.label], "rank", "head_to_head", "sonneborn_berger") if ranks else {}),
        }
        for row in standings
    ]


def standings_table(standings: Sequence[Standing], ranks: Mapping[str, RankedEntry] | None = None) -> Table:
    """Return the table of the standings. Without the ranks, rows are numbered."""
    columns = (">#", "bot", ">points", ">wins", ">draws", ">losses", ">rating")
    rows = (
        (place, row.label, points(row.points), row.wins, row.draws, row.losses, rating(row.rating))
        for number, row in enumerate(standings, start=1)
        for place in (ranks[row.label].rank if ranks else number,)
    )
    return table(columns, rows)


def fault_line(label: str, faults: int) -> str:
    """Return e.g. `mybot lost 2 games through its own fault.`."""
    return f"{label} lost {count(faults, 'game')} through its own fault."


def standings_notes(standings: Sequence[Standing]) -> str:
    """Return lines on byes and withdrawn entries, which have no column; often empty."""
    byes = ", ".join(f"{printable(row.label)} {row.byes}" for row in standings if row.byes)
    left = (
        f"Withdrawn: {printable(row.label)}" + (f", {printable(row.withdrawn_reason)}" if row.withdrawn_reason else "")
        for row in standings
        if row.withdrawn_at is not None
    )
    return "\n".join([*([f"Byes, each worth a win in all games of a pairing: {byes}"] if byes else []), *left])
