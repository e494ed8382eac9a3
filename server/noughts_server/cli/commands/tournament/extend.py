"""The command `noughts tournament extend`."""

from typing import Annotated

from typer import Option

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts tournament extend spring --games 10
tournaments/spring
...
"""
)
def extend(
    name: TournamentArgument,
    games: Annotated[
        int, Option("--games", metavar="N", min=0, max=1_000_000, help="Further games per pair", rich_help_panel="Game")
    ] = 0,
    rounds: Annotated[
        int,
        Option(
            "--rounds",
            metavar="N",
            min=0,
            max=4096,
            help="Further rounds of a `swiss` or `danish`",
            rich_help_panel="Game",
        ),
    ] = 0,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Add games to a tournament that is running or finished. They are played immediately.

    Without --games or --rounds, a finished tournament is set to paused, so that bots can join; `start` resumes it.
    """
    request = pb.ExtendTournamentRequest(name=read_tournament(name), games_per_pair=games, rounds=rounds)
    with server.connected() as client:
        tournament = client.call(client.tournaments.ExtendTournament, request).tournament
        show_tournament(output, client, tournament)
