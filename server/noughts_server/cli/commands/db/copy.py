"""The command `noughts db copy`."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Annotated

from typer import Argument

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.database import read_database
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.processes.signals import run_loop


@command(
    example="""
$ noughts db copy games.db copied.db
30 games, ... rows in all: copied, and compared with the copy
""",
    extra="server",
)
def copy(
    source: Annotated[str, Argument(metavar="FROM", help="Source database: a file or an SQLAlchemy URL")],
    target: Annotated[str, Argument(metavar="TO", help="Target database; must be empty")],
    *,
    output: OutputOptions,
) -> None:
    """Copy a league from one database to another of any kind, and compare the two in full.

    This works between SQLite and PostgreSQL in both directions. First stop all servers that use either database.
    """
    from noughts_server.store.engine.copying import copy_database
    from noughts_server.store.engine.database import Store

    source_url, target_url = str(read_database(source)), str(read_database(target))
    if source_url == target_url:
        raise UsageProblem("FROM and TO: got one database, expected two")

    async def copy_rows(show: Callable[[int, int], None]) -> dict[str, int]:
        async with AsyncExitStack() as stack:
            old = await Store.open(source_url, alone=True, create=False)
            stack.push_async_callback(old.close)
            new = await Store.open(target_url, alone=True)
            stack.push_async_callback(new.close)
            return await copy_database(old, new, show)

    with counting("Rows") as show:
        rows = run_loop(copy_rows(show))
    total = sum(rows.values())
    summary = f"{printing.count(rows['games'], 'game')}, {printing.count(total, 'row')} in all: copied"
    output.show({"rows": total, "games": rows["games"]}, f"{summary}, and compared with the copy")
