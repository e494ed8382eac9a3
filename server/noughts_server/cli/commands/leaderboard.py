"""The command `noughts leaderboard`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from typer import Option

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.leaderboard import place_document, print_places
from noughts_server.cli.drawing.rating_table import print_ratings, ratings_document
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.game import read_variant
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.rating_list import RatingListVariantOption, choose_list, known_lists, other_lists_text
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.statistics import AnchorOption, read_anchors
from noughts_server.cli.options.time import TimeClassOption
from noughts_server.core.resource_names import bot_name, short
from noughts_server.statistics.rating_table import AdvantageBound, RatedPlayer, RatingTable

_MOST_GAMES = (1 << 64) - 1
"""The largest value of the request's field."""


@command(
    example="""
$ noughts leaderboard
tictactoe/untimed
Live Elo: game by game
#     bot    owner  rating  games  wins  draws  losses      accuracy
...
1  ●  mybot  alice   1644?     20    16      4       0  ...% of ...
2  ●  rival  bob     1356?     20     0      4      16  ...% of ...
...
"""
)
def leaderboard(
    variant: RatingListVariantOption = None,
    time_class: TimeClassOption = None,
    owner: Annotated[str, Option("--owner", metavar="NAME", help="Only bots of this owner")] = "",
    online: Annotated[bool, Option("--online", help="Only bots that are online")] = False,
    min_games: Annotated[
        int,
        Option(
            "--min-games",
            metavar="N",
            min=0,
            max=_MOST_GAMES,
            help="Only bots with at least N rated games in this list",
        ),
    ] = 0,
    settled: Annotated[bool, Option("--settled", help="Only bots whose rating is not provisional")] = False,
    retired: Annotated[bool, Option("--retired", help="Include retired bots")] = False,
    view: Annotated[
        str,
        Option("--view", metavar="NAME", help="View: fit or live. Default: fit if there are enough games"),
    ] = "",
    fit: Annotated[
        bool,
        Option(
            "--fit", help="Details of a fit to all games in the list, with 95 % intervals", rich_help_panel="Statistics"
        ),
    ] = False,
    prior: Annotated[
        bool,
        Option(
            "--prior",
            help="With --fit: add two virtual draws per bot, so that all share one scale",
            rich_help_panel="Statistics",
        ),
    ] = False,
    anchor: AnchorOption = None,
    *,
    server: ServerOptions,
    output: ListOptions,
) -> None:
    """List the bots in a rating list, strongest first. Each variant and time class has a list.

    Default: the untimed tictactoe list or, if it is empty, the list with the most games. If its bots have 30
    games each on average, all games at once decide the order, and "1-3" are the ranks that they allow.
    Filters do not change ranks. See also `noughts bot show` and `noughts rating-lists`.
    """
    anchors = read_anchors(anchor)
    if (anchors or prior) and not fit:
        raise UsageProblem(f"{'--anchor' if anchors else '--prior'}: requires --fit as well")
    if fit and (owner or online or settled or view):
        raise UsageProblem("--fit: got --owner, --online, --settled or --view as well, expected only --min-games")
    variant = None if variant is None else read_variant(variant).name
    pages: list[pb.GetLeaderboardResponse] = []

    def rows_of(page: pb.GetLeaderboardResponse) -> Sequence[pb.LeaderboardRow]:
        pages.append(page)
        return page.rows

    with server.connected() as client:
        rating_lists = known_lists(client)
        variant, time_class = choose_list(rating_lists, variant, time_class)
        if fit:
            fit_request = _fit_request(variant, time_class, min_games=min_games, prior=prior, anchors=anchors)
            _show_fit(output, client.call(client.leaderboards.GetBatchRatings, fit_request))
            return
        request = pb.GetLeaderboardRequest(
            variant=variant,
            time_class=time_class,
            owner=owner,
            online_only=online,
            min_games=min_games,
            exclude_provisional=settled,
            show_retired=retired,
            view=view,
        )
        rows = list(output.limited(partial(client.list_items, client.leaderboards.GetLeaderboard, request, rows_of)))
    first_page = pages[0]
    if output.is_json:
        printing.print_json(_document(first_page, rows))
        return
    console = printing.stdout()
    printing.heading(console, first_page.rating_list)
    console.print(f"{first_page.view.title}: {first_page.view.source}")
    if rows:
        print_places(("bot", "owner"), [((short(row.bot), row.owner), row) for row in rows])
    elif owner or online or min_games or settled:
        console.print("No bot in this list matches the filters.")
    else:
        hint = "" if retired else " (or all are retired, see `--retired`)"
        console.print(f"No bot has a rating here yet{hint}.")
    if others := other_lists_text(rating_lists, first_page.rating_list):
        console.print(f"\n{others}", soft_wrap=True)


def _document(first_page: pb.GetLeaderboardResponse, rows: Sequence[pb.LeaderboardRow]) -> dict[str, Any]:
    return {
        "rating_list": first_page.rating_list,
        "view": first_page.view.name,
        "rows": [
            {
                "rank": row.rank,
                "name": short(row.bot),
                **place_document(row),
                "view_rating": row.view_rating if row.HasField("view_rating") else None,
                "view_error95": row.view_error95 if row.HasField("view_error95") else None,
                "rank_low": row.rank_low if row.HasField("rank_low") else None,
                "rank_high": row.rank_high if row.HasField("rank_high") else None,
                "owner": row.owner,
                "online": row.online,
            }
            for row in rows
        ],
    }


def _fit_request(
    variant: str, time_class: str, *, min_games: int, prior: bool, anchors: Mapping[str, float]
) -> pb.GetBatchRatingsRequest:
    return pb.GetBatchRatingsRequest(
        variant=variant,
        time_class=time_class,
        min_games=min_games,
        prior=prior,
        anchors={bot_name(name): rating for name, rating in anchors.items()},
    )


def _show_fit(output: ListOptions, response: pb.GetBatchRatingsResponse) -> None:
    table = _rating_table(response)

    def print_text() -> None:
        printing.heading(printing.stdout(), f"{response.rating_list}: ratings from all games at once")
        if table.players:
            print_ratings(table)
        else:
            printing.stdout().print("No games.")

    output.show({"rating_list": response.rating_list, **ratings_document(table)}, print_text)


def _rating_table(response: pb.GetBatchRatingsResponse) -> RatingTable:
    bound = pb.AdvantageBound.Name(response.advantage_bound).removeprefix("ADVANTAGE_BOUND_")
    return RatingTable(
        players=tuple(map(_rated_player, response.ratings)),
        games=response.games,
        draw_rate=response.draws / response.games if response.games else None,
        advantage=response.advantage if response.HasField("advantage") else None,
        advantage_error95=response.advantage_error95 if response.HasField("advantage_error95") else None,
        bound=AdvantageBound[bound],
        prior=response.prior,
    )


def _rated_player(row: pb.BatchRating) -> RatedPlayer:
    return RatedPlayer(
        rank=row.rank,
        name=short(row.bot),
        rating=row.rating if row.HasField("rating") else None,
        error95=row.error95 if row.HasField("error95") else None,
        games=row.wins + row.draws + row.losses,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        opposition=row.opposition if row.HasField("opposition") else None,
        los_next=row.los_next if row.HasField("los_next") else None,
        group=row.group,
        anchored=row.anchored,
    )
