"""`noughts bot games`: the games of a bot on a server."""

from functools import partial
from typing import Annotated

from typer import Option

from noughts_proto.v1 import games_pb2 as pb
from noughts_server.cli import completion
from noughts_server.cli.command import command
from noughts_server.cli.drawing.game import game_document
from noughts_server.cli.drawing.games_of_bots import print_games
from noughts_server.cli.options.game_filter import GameFilter
from noughts_server.cli.options.names import BotArgument, read_bot_without_version, read_tournament
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts bot games mybot --opponent rival --limit 2
...
game       first  second  result   termination  plies
...
autumn/20  rival  mybot   ...
...
"""
)
def games(
    name: BotArgument,
    opponent: Annotated[
        str, Option("--opponent", metavar="NAME", autocompletion=completion.bots, help="Only games against this bot")
    ] = "",
    tournament: Annotated[
        str,
        Option(
            "--tournament", metavar="ID", autocompletion=completion.tournaments, help="Only games in this tournament"
        ),
    ] = "",
    *,
    game_filter: GameFilter,
    server: ServerOptions,
    output: ListOptions,
) -> None:
    """List the games of all versions of a bot: newest tournament first, then highest number first."""
    request = pb.ListGamesRequest(
        parent=read_bot_without_version(name),
        opponent=read_bot_without_version(opponent) if opponent else "",
        tournament=read_tournament(tournament) if tournament else "",
    )
    game_filter.apply(request)
    with server.connected() as client:
        rows = output.limited(partial(client.list_items, client.games.ListGames, request, lambda page: page.games))
        against = f" against {short(request.opponent)}" if opponent else ""
        such = "such " if game_filter.is_set else ""
        empty = f"No {such}games of {short(request.parent)}{against} yet."
        output.show_each(map(game_document, rows), lambda: print_games(rows, empty))
