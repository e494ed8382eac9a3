"""The command `noughts tournament wait`."""

from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.server_games.tournament_end import verdict, wait_for_end


@command(
    example="""
$ noughts tournament wait autumn
tournaments/autumn
finished, 20 of 20 games played
...
"""
)
def wait(name: TournamentArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Wait until a tournament is over, then show it.

    The exit code is 0 if it finished, 1 if it is a match whose test accepted H0 or if all candidates were dropped, and
    3 if it was cancelled or its test was not decided.
    """
    with server.connected() as client:
        tournament = wait_for_end(client, read_tournament(name))
        show_tournament(output, client, tournament)
    if code := verdict(tournament):
        raise SystemExit(code)
