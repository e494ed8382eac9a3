"""The command `noughts tournament stop-repeating`."""

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts tournament stop-repeating thursdays
tournaments/thursdays
cancelled: its league was stopped
...
"""
)
def stop_repeating(name: TournamentArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Stop a tournament from repeating. A season that waits for its start is cancelled; a running one continues."""
    request = pb.StopRepeatingRequest(name=read_tournament(name))
    with server.connected() as client:
        tournament = client.call(client.tournaments.StopRepeating, request).tournament
        show_tournament(output, client, tournament)
