"""The command `noughts rating-lists`."""

from functools import partial

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts rating-lists
variant    time class  bots  games
...
tictactoe  untimed ...
"""
)
def rating_lists(*, server: ServerOptions, output: ListOptions) -> None:
    """List a server's rating lists: one for each variant and time class with a rated tournament."""
    with server.connected() as client:
        request = pb.ListRatingListsRequest()
        pages = partial(client.list_items, client.leaderboards.ListRatingLists, request, lambda page: page.rating_lists)
        rows = list(output.limited(pages))
    documents = [
        {
            "name": row.name,
            "variant": row.variant,
            "time_class": row.time_class,
            "bots": row.bots,
            "games": row.games,
        }
        for row in rows
    ]
    output.show_rows(
        {"rating_lists": documents},
        ("variant", "time class", ">bots", ">games"),
        [(row.variant, row.time_class, f"{row.bots:,}", f"{row.games:,}") for row in rows],
        "No rated tournament yet.",
    )
