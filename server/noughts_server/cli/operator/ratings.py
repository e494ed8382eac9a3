"""`noughts ratings`: maintenance of the rating lists. Works on the database itself."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import Progress

from noughts_server.cli import options, output
from noughts_server.cli.command import command
from noughts_server.cli.output import Format
from noughts_server.competition.elo import Rating

if TYPE_CHECKING:
    from noughts_server.store.ratings.rating_lists import Difference, RebuildReport


@command("noughts ratings rebuild", "noughts ratings rebuild --db games.db --format json", extra="server")
def rebuild(database: options.DatabaseOption = None, output_format: options.FormatOption = Format.TEXT) -> None:
    """Computes all ratings and their history again from the stored games and corrects what differs.

    Stop the server first. Databases of versions that kept no history get one by this.
    """
    from noughts_server.cli.database import in_database
    from noughts_server.store.ratings.rating_lists import rebuild_ratings

    with _showing_games() as show:
        report = in_database(
            database, lambda store: store.write(lambda connection: rebuild_ratings(connection, show)), alone=True
        )
    if output_format is Format.JSON:
        output.print_json(_document(report))
    else:
        _print(report)


@contextmanager
def _showing_games() -> Iterator[Callable[[int, int], None]]:
    console = output.stderr()
    if not console.is_terminal:
        yield lambda done, total: None
        return

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("Games", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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
    console = output.stdout()
    console.print(f"{output.count(report.slots, 'game')} give {output.count(report.bots, 'rating')}.")
    if report.history_corrected:
        points = output.count(report.history_points, "point")
        console.print(f"Their history has {points}, of which {report.history_corrected:,} had to be corrected.")
    if not report.differences and not report.history_corrected:
        console.print("All of them were stored like that; nothing was changed.")
    if not report.differences:
        return
    rows = [_row(row) for row in report.differences]
    output.heading(console, "Corrected")
    console.print(output.table(("list", "bot", ">stored", ">now"), rows))


def _row(row: "Difference") -> tuple[str, ...]:
    return row.rating_list, row.bot, output.rating(_value(row.stored)), output.rating(_value(row.rebuilt))


def _value(rating: Rating | None) -> float | None:
    return None if rating is None else rating.rating
