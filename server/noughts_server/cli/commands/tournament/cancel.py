"""The command `noughts tournament cancel`."""

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts tournament cancel summer
tournaments/summer
cancelled, 0 of 2 games played
...
"""
)
def cancel(name: TournamentArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Cancel a tournament permanently; finished games are kept."""
    request = pb.CancelTournamentRequest(name=read_tournament(name))
    with server.connected() as client:
        tournament = client.call(client.tournaments.CancelTournament, request).tournament
        show_tournament(output, client, tournament)
