"""The command `noughts tournament list`."""

from functools import partial
from typing import Annotated

from typer import Option

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import conditions_document, state_wording, time_wording
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts tournament list
name    state      variant    time  games  title
...
spring  finished   tictactoe  none  20/20
...
cup     open       tictactoe  none    0/0
...
"""
)
def list_tournaments(
    challenges: Annotated[
        bool, Option("--only-challenges", "--challenges", help="Only challenges, which are left out by default")
    ] = False,
    *,
    server: ServerOptions,
    output: ListOptions,
) -> None:
    """List all tournaments, newest first."""
    request = pb.ListTournamentsRequest(challenges=challenges)
    with server.connected() as client:
        pages = partial(client.list_items, client.tournaments.ListTournaments, request, lambda page: page.tournaments)
        tournaments = list(output.limited(pages))
    rows = [
        (
            short(tournament.name),
            state_wording(tournament),
            tournament.variant,
            time_wording(tournament),
            f"{tournament.games_done:,}/{tournament.games_total:,}",
            tournament.title,
        )
        for tournament in tournaments
    ]
    output.show_rows(
        {"tournaments": [conditions_document(tournament) for tournament in tournaments]},
        ("name", "state", "variant", "time", ">games", "title"),
        rows,
        f"No {'challenges' if challenges else 'tournaments'} yet.",
    )
