"""Rows of a rating list, as a table and as JSON."""

from collections.abc import Sequence
from typing import Any

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import printing
from noughts_server.tables.accuracy import shown_accuracy


def place_document(row: pb.LeaderboardRow) -> dict[str, Any]:
    """Return a bot's place, rating and record in a list."""
    return {
        "rank": row.rank,
        "rating": row.rating,
        "games": row.games,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "provisional": row.provisional,
        "judged_games": row.judged_games,
        "decisions": row.decisions,
        "blunders": row.blunders,
    }


def print_places(columns: tuple[str, ...], rows: Sequence[tuple[tuple[object, ...], pb.LeaderboardRow]]) -> None:
    """Print a table with rank, the given columns, ratings and record, and a legend of its marks.

    Each row has the cells of the given columns, and the row of the rating list.
    """
    dot = "●" if printing.unicode() else "*"
    console = printing.stdout()
    has_view_ratings = any(row.HasField("view_rating") for _, row in rows)
    has_accuracies = any(shown_accuracy(row.decisions, row.blunders) is not None for _, row in rows)
    lines = [
        (
            _ranks(row),
            dot if row.online else "",
            *cells,
            *((printing.rating(row.view_rating), printing.rating(row.view_error95)) if has_view_ratings else ()),
            f"{printing.rating(row.rating)}{'?' if row.provisional else ' '}",
            f"{row.games:,}",
            f"{row.wins:,}",
            f"{row.draws:,}",
            f"{row.losses:,}",
            *([_accuracy(row)] if has_accuracies else ()),
        )
        for cells, row in rows
    ]
    ratings = (">rating", ">±", ">live Elo") if has_view_ratings else (">rating",)
    counts = (">games", ">wins", ">draws", ">losses", *([">accuracy"] if has_accuracies else ()))
    console.print(printing.table((">#", "", *columns, *ratings, *counts), lines))
    legend = []
    if any(row.online for _, row in rows):
        legend.append(f"{dot} online")
    if any(row.HasField("rank_low") for _, row in rows):
        legend.append("1-3: the ranks that the games allow (95 % for all at once)")
    if any(row.provisional for _, row in rows):
        legend.append("? provisional: too few games for a reliable rating")
    if legend:
        console.print("\n" + "   ".join(legend))


def _ranks(row: pb.LeaderboardRow) -> str:
    if not row.HasField("rank_low"):
        return str(row.rank)
    return f"{row.rank_low}-{row.rank_high}" if row.rank_low < row.rank_high else str(row.rank_low)


def _accuracy(row: pb.LeaderboardRow) -> str:
    share = shown_accuracy(row.decisions, row.blunders)
    return "-" if share is None else f"{share:.1%} of {row.decisions:,}"
