"""The command `noughts tournament show`."""

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.statistics import FitOption


@command(
    example="""
$ noughts tournament show autumn
tournaments/autumn
finished, 20 of 20 games played
...
1  mybot      18    16      4       0    1644
2  rival       2     0      4      16    1356
...
"""
)
def show(name: TournamentArgument, fit: FitOption = False, *, server: ServerOptions, output: OutputOptions) -> None:
    """Show a tournament with its standings and its crosstable."""
    request = pb.GetTournamentRequest(name=read_tournament(name))
    with server.connected() as client:
        tournament = client.call(client.tournaments.GetTournament, request).tournament
        show_tournament(output, client, tournament, fit=fit)
