"""The command `noughts records list`."""

from itertools import islice
from typing import Annotated

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.records.files import FileArgument
from noughts_server.cli.drawing.boards import cells_text
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.game_sources import FileDialect, games_in
from noughts_server.cli.options.output import ListOptions
from noughts_server.records.filters import RecordFilter
from noughts_server.records.formats import WITHOUT_MOVES, format_of
from noughts_server.records.json_lines import json_document
from noughts_server.tables.recorded_game import RecordedGame

_MOST_CELLS = 20


@command(
    example="""
$ noughts records list games.jsonl --bot random --result drawn
 #  first        second       result   termination  plies  opening
...
 2  random       three-stage  1/2-1/2  board_full       9
...
"""
)
def list_games(
    file: FileArgument,
    bot: Annotated[str | None, Option("--bot", metavar="BOT", help="Only games of this bot")] = None,
    against: Annotated[
        str | None, Option("--opponent", "--against", metavar="NAME", help="Only games against this bot")
    ] = None,
    variant: Annotated[
        str | None, Option("--variant", metavar="V", help="Only games of this variant", rich_help_panel="Game")
    ] = None,
    result: Annotated[
        str | None,
        Option(
            "--result", metavar="R", help="Only this result: `1-0`, `1/2-1/2`, `0-1`; with --bot `won`, `lost`, ..."
        ),
    ] = None,
    termination: Annotated[
        str | None,
        Option("--termination", metavar="HOW", help="Only games that ended this way: `line`, `timeout`, ..."),
    ] = None,
    opening: Annotated[
        str | None,
        Option("--opening", metavar="CELLS", help="Only games with these first moves: `h8i9` or `[112, 98]`"),
    ] = None,
    *,
    files: FileDialect,
    output: ListOptions,
) -> None:
    """List the games in a file, or a selection of them."""
    try:
        is_wanted = RecordFilter(
            bot=bot, opponent=against, variant=variant, result=result, termination=termination, opening=opening
        )
    except ValueError as error:
        raise UsageProblem(str(error)) from error
    matching_games = (
        (number, game) for number, game in enumerate(games_in(file, files.dialect), start=1) if is_wanted(game)
    )
    rows = output.limited(lambda limit: islice(matching_games, limit))
    columns = (">#", "first", "second", "result", "termination", ">plies", "opening")
    has_moves = format_of(file) not in WITHOUT_MOVES
    output.show_each(
        ({"number": number, **json_document(game)} for number, game in rows),
        lambda: printing.print_rows(columns, (_row(*row, has_moves) for row in rows), f"No such games in {file}."),
    )


def _row(number: int, game: RecordedGame, has_moves: bool) -> tuple[object, ...]:
    opening = cells_text(game.variant, game.opening[:_MOST_CELLS])
    plies = len(game.moves) if has_moves or game.moves else "-"
    return number, game.first, game.second, game.result, game.termination or "-", plies, opening
