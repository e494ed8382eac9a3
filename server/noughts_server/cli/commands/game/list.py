"""The command `noughts game list`."""

from functools import partial
from typing import Annotated

from typer import Argument, Option

from noughts_proto.v1 import games_pb2 as pb
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.boards import cells_text
from noughts_server.cli.drawing.game import game_document
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.game_filter import GameFilter
from noughts_server.cli.options.names import read_tournament
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.records.server_games import result_text, termination_text

_LAST_MOVES = 4


@command(
    example="""
$ noughts game list autumn --result draw --limit 1
...
#  first  second  result   termination  plies  last moves
...
"""
)
def list_games(
    tournament: Annotated[
        str, Argument(metavar="TOURNAMENT", autocompletion=completion.tournaments, help="Tournament, e.g. `spring`")
    ],
    bot: Annotated[
        str, Option("--bot", metavar="BOT", help="Only games of this entry: its label, or `bots/NAME`")
    ] = "",
    *,
    game_filter: GameFilter,
    server: ServerOptions,
    output: ListOptions,
) -> None:
    """List the games of a tournament in numerical order."""
    request = pb.ListGamesRequest(parent=read_tournament(tournament), entry=bot, with_comments=output.is_json)
    game_filter.apply(request)
    if game_filter.needs_bot and not bot:
        raise UsageProblem(f"--result {game_filter.result}: got no bot, expected --bot BOT, the bot with this result")
    columns = (">#", "first", "second", "result", "termination", ">plies", "last moves")
    empty = f"No {'such ' if game_filter.is_set or bot else ''}games in {request.parent} yet."
    with server.connected() as client:
        pages = partial(client.list_items, client.games.ListGames, request, lambda page: page.games)
        games = output.limited(pages)
        output.show_each(map(game_document, games), lambda: printing.print_rows(columns, map(_row, games), empty))


def _row(game: pb.Game) -> tuple[object, ...]:
    return (
        game.name.rpartition("/")[2],
        game.first,
        game.second,
        result_text(game),
        termination_text(game),
        len(game.moves),
        cells_text(game.variant, game.moves[-_LAST_MOVES:]),
    )
