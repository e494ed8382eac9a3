"""The command `noughts tournament start`."""

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts tournament start spring
tournaments/spring
...
"""
)
def start(name: TournamentArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Start a tournament, or resume a paused one."""
    request = pb.StartTournamentRequest(name=read_tournament(name))
    with server.connected() as client:
        tournament = client.call(client.tournaments.StartTournament, request).tournament
        show_tournament(output, client, tournament)
