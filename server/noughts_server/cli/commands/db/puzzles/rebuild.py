"""The command `noughts db puzzles rebuild`."""

from functools import partial
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
$ noughts db puzzles rebuild --db games.db --format json
{"puzzles":...}
""",
    extra="server",
)
def rebuild(database: DatabaseOption = None, *, output: OutputOptions) -> None:
    """Search all games for puzzles again.

    Stop the server first. If the command is interrupted, run it again; the server also searches remaining games. The
    same games have the same puzzles if the same extras are installed (`connect4`, `wasm`).
    """
    from noughts_server.runtime.puzzles import GAMES_A_STEP, search
    from noughts_server.store.games.puzzles import count_unsearched, forget_puzzles, next_unsearched

    async def search_all(store: "Store") -> int:
        await store.write(forget_puzzles)
        puzzles = 0
        total = await store.read(count_unsearched)
        while (games := await store.read(partial(next_unsearched, most=GAMES_A_STEP))) is not None:
            puzzles += await search(store, games)
            show(total - await store.read(count_unsearched), total)
        return puzzles

    with counting("Games") as show:
        puzzles = in_database(database, search_all, alone=True)
    output.show({"puzzles": puzzles}, f"{printing.count(puzzles, 'puzzle')} found")
