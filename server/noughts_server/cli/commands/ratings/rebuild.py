"""`noughts ratings rebuild`: correct the rating lists of a database."""

from typing import TYPE_CHECKING, Any

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.competition.elo import Rating

if TYPE_CHECKING:
    from noughts_server.store.ratings.rating_lists import RebuildReport


@command(
    example="""
$ noughts ratings rebuild --db games.db --format json
{"games":30,"ratings":3,...}
""",
    extra="server",
)
def rebuild(database: DatabaseOption = None, *, output: OutputOptions) -> None:
    """Recompute all ratings and their history from the stored games, and correct what differs.

    Stop the server first. If the database comes from a version without a rating history, the command creates one.
    """
    from noughts_server.store.ratings.rating_lists import rebuild_ratings

    with counting("Games") as show:
        report = in_database(
            database, lambda store: store.write(lambda connection: rebuild_ratings(connection, show)), alone=True
        )
    output.show(_document(report), lambda: _print(report))


def _document(report: "RebuildReport") -> dict[str, Any]:
    return {
        "games": report.slots,
        "ratings": report.bots,
        "differences": [
            {
                "rating_list": row.rating_list,
                "name": row.bot,
                "stored": _value(row.stored),
                "rebuilt": _value(row.rebuilt),
            }
            for row in report.differences
        ],
        "history": {"points": report.history_points, "corrected": report.history_corrected},
    }


def _print(report: "RebuildReport") -> None:
    console = printing.stdout()
    console.print(f"{printing.count(report.slots, 'game')} give {printing.count(report.bots, 'rating')}.")
    if report.history_corrected:
        points = printing.count(report.history_points, "point")
        console.print(f"Their history has {points}, of which {report.history_corrected:,} were corrected.")
    if not report.differences and not report.history_corrected:
        console.print("All of them were correct; nothing was changed.")
    if not report.differences:
        return
    rows = [
        (row.rating_list, row.bot, printing.rating(_value(row.stored)), printing.rating(_value(row.rebuilt)))
        for row in report.differences
    ]
    printing.heading(console, "Corrected")
    console.print(printing.table(("list", "bot", ">stored", ">now"), rows))


def _value(rating: Rating | None) -> float | None:
    return None if rating is None else rating.rating
