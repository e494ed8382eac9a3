"""`noughts bot history`: the rating of a bot over its games."""

from typing import Any

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.bot.ratings import ratings_of
from noughts_server.cli.drawing.chart import print_line_chart
from noughts_server.cli.options.game import read_variant
from noughts_server.cli.options.names import BotArgument, read_bot_without_version
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.rating_list import KnownList, RatingListVariantOption, choose_list, other_lists_text
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.time import TimeClassOption
from noughts_server.cli.times import exact
from noughts_server.core.resource_names import short

_POINTS_IN_TABLE = 10


@command(
    example="""
$ noughts bot history mybot
...
after games  rating  counted (UTC)
...
         20    1644  2026-11-25 18:26:04
...
"""
)
def history(
    name: BotArgument,
    variant: RatingListVariantOption = None,
    time_class: TimeClassOption = None,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Plot a bot's rating in one rating list against its number of rated games.

    Default: the untimed tictactoe list or, if it is empty, the list in which the bot has the most games. There
    is a point for each of the first 64 games, then 32 points each time the number of games doubles.
    """
    resource = read_bot_without_version(name)
    variant_name = None if variant is None else read_variant(variant).name
    with server.connected() as client:
        lists = [KnownList.of(row.rating_list, row.row.games) for row in ratings_of(client, resource)]
        request = pb.GetRatingHistoryRequest(bot=resource)
        request.variant, request.time_class = choose_list(lists, variant_name, time_class)
        response = client.call(client.leaderboards.GetRatingHistory, request)

    def print_text() -> None:
        _print(short(resource), response)
        if others := other_lists_text(lists, response.rating_list):
            printing.stdout().print(f"\n{others}", soft_wrap=True)

    output.show(_document(short(resource), response), print_text)


def _document(name: str, response: pb.GetRatingHistoryResponse) -> dict[str, Any]:
    return {
        "name": name,
        "rating_list": response.rating_list,
        "rating": response.rating if response.games else None,
        "games": response.games,
        "points": [
            {"games": point.games, "rating": point.rating, "time": exact(point.time)} for point in response.points
        ],
    }


def _print(name: str, response: pb.GetRatingHistoryResponse) -> None:
    console = printing.stdout()
    printing.heading(console, f"{name} in {response.rating_list}")
    if not response.games:
        console.print("No rated game here yet.")
        return
    line = [(float(point.games), point.rating) for point in response.points]
    if not response.points or response.points[-1].games != response.games:
        line.append((float(response.games), response.rating))
    first_games, _ = line[0]
    low, high = min(rating for _, rating in line), max(rating for _, rating in line)
    print_line_chart(
        line,
        up=(printing.rating(low), printing.rating(high)),
        across=(f"{first_games:,.0f}", printing.count(response.games, "game")),
    )
    rows = [
        (f"{point.games:,}", printing.rating(point.rating), (exact(point.time) or "")[:19].replace("T", " "))
        for point in response.points[-_POINTS_IN_TABLE:]
    ]
    console.print(printing.table((">after games", ">rating", "counted (UTC)"), rows))
    console.print(f"\nNow {printing.rating(response.rating)} after {printing.count(response.games, 'rated game')}.")
