"""The command `noughts db explorer rebuild`."""

from typing import TYPE_CHECKING

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions

if TYPE_CHECKING:
    from noughts_server.store.engine.database import Store


@command(
    example="""
$ noughts db explorer rebuild --db games.db --format json
{"games":30}
""",
    extra="server",
)
def rebuild(database: DatabaseOption = None, *, output: OutputOptions) -> None:
    """Recount all games for the opening explorer.

    Stop the server first. If the command is interrupted, run it again; the server also counts remaining games.
    """
    from noughts_server.store.games.explorer import count_some, count_unexplored, forget_all

    async def recount(store: "Store") -> int:
        await store.write(forget_all)
        games = 0
        total = await store.read(count_unexplored)
        while remaining := await store.read(count_unexplored):
            show(total - remaining, total)
            games += await store.write(lambda connection: count_some(connection, 2_000))
        return games

    with counting("Games") as show:
        games = in_database(database, recount, alone=True)
    output.show({"games": games}, f"{printing.count(games, 'game')} counted")
