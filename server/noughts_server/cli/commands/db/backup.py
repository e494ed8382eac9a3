"""The command `noughts db backup`."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions

TargetArgument = Annotated[Path, Argument(metavar="FILE", help="File for the copy; must not exist yet")]


@command(
    example="""
$ noughts db backup copy.db --db games.db
copy.db: 30 games, ... bytes
""",
    extra="server",
)
def backup(target: TargetArgument, database: DatabaseOption = None, *, output: OutputOptions) -> None:
    """Copy a database to one file, even while a server writes to it, and verify the copy.

    The file is either written completely or not at all.
    """
    from noughts_server.store.engine.backup import back_up

    with counting("Pages") as show:
        games = in_database(
            database, lambda store: store.read(lambda connection: back_up(connection, target, show)), reading=True
        )
    size = target.stat().st_size
    summary = f"{printing.printable(str(target))}: {printing.count(games, 'game')}, {size:,} bytes"
    output.show({"file": str(target), "games": games, "bytes": size}, summary)
