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


def standings_document(standings: Iterable[Standing], ranks: Mapping[str, RankedEntry]) -> list[dict[str, Any]]:
    """Return the rows for JSON.

    A missing rating is null, and so is a head-to-head score that does not count. "withdrawn" is the reason, and null
    for an active entry.
    """
    return [
        {
            "name": row.label,
            **picked(row, "wins", "draws", "losses", "points", "rating", "byes"),
            "withdrawn": None if row.withdrawn_at is None else row.withdrawn_reason or "on request",
            **picked(ranks[row.label], "rank", "head_to_head", "sonneborn_berger"),
        }
        for row in standings
    ]


def standings_table(standings: Iterable[Standing], ranks: Mapping[str, RankedEntry]) -> Table:
    columns = (">#", "bot", ">points", ">wins", ">draws", ">losses", ">rating")
    rows = (
        (ranks[row.label].rank, row.label, points(row.points), row.wins, row.draws, row.losses, rating(row.rating))
        for row in standings
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
