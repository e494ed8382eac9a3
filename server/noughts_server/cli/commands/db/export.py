"""The command `noughts db export`."""

from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.records.data_set import DataSet


@command(
    example="""
$ noughts db export --parquet archive --db games.db
archive: 30 games in 1 month; 1 file written
""",
    extra="parquet",
)
def export(
    parquet: Annotated[
        Path, Option("--parquet", metavar="FOLDER", help="Folder for the files, one a month: `2026-11.parquet`")
    ],
    license: Annotated[
        str,
        Option(
            "--license",
            metavar="NAME",
            help="Licence in the card, e.g. `CC0-1.0`. Default: not stated",
            rich_help_panel="Output",
        ),
    ] = "",
    database: DatabaseOption = None,
    *,
    output: OutputOptions,
) -> None:
    """Write all games to Parquet files, one for each month in which games ended, with a data-set card.

    Run it again at any time: it writes only months that are new or have changed, and continues after an interruption. A
    server can keep running. The archive of each database needs a folder of its own.
    """
    from noughts_server.records.months import export_months

    data_set = DataSet(license=license, source="a database")
    with counting("Games") as show:
        files = in_database(database, lambda store: export_months(store, parquet, data_set, show), reading=True)
    written_files = sum(is_written for _, is_written in files.values())
    total = sum(games for games, _ in files.values())
    months = [{"file": name, "games": games, "written": is_written} for name, (games, is_written) in files.items()]
    summary = (
        f"{printing.printable(str(parquet))}: {printing.count(total, 'game')} in {printing.count(len(files), 'month')}"
    )
    output.show({"games": total, "months": months}, f"{summary}; {printing.count(written_files, 'file')} written")
