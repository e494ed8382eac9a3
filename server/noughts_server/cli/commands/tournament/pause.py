"""The command `noughts tournament pause`."""

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.options.game import NowOption
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts tournament pause summer
tournaments/summer
paused, 0 of 2 games played
...
"""
)
def pause(name: TournamentArgument, now: NowOption = False, *, server: ServerOptions, output: OutputOptions) -> None:
    """Pause a tournament: running games finish, no new ones start. `tournament start` resumes it."""
    request = pb.PauseTournamentRequest(name=read_tournament(name), now=now)
    with server.connected() as client:
        tournament = client.call(client.tournaments.PauseTournament, request).tournament
        show_tournament(output, client, tournament)
