"""`noughts leaderboard`: a rating list of a server."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from typer import Option

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import completion, options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.drawing.rating_table import print_ratings, ratings_document
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.former_command import command
from noughts_server.cli.options.statistics import AnchorOption
from noughts_server.cli.options.time import TimeClassOption
from noughts_server.cli.remote.list_choice import KnownList, chosen, others_line
from noughts_server.client.client import Client
from noughts_server.core.resource_names import bot_name, short
from noughts_server.statistics.rating_table import AdvantageBound, RatedPlayer, RatingTable
from noughts_server.tables.accuracy import shown_accuracy

PLACE_FIELDS = (
    *("rank", "rating", "games", "wins", "draws", "losses", "provisional"),
    *("judged_games", "decisions", "blunders"),
)
_VIEW_FIELDS = ("view_rating", "view_error95", "rank_low", "rank_high")
# The largest value of the request's field.
_MOST_GAMES = (1 << 64) - 1


def _print(answer: pb.GetBatchRatingsResponse, table: RatingTable) -> None:
    printing.heading(printing.stdout(), f"{answer.rating_list}: ratings from all games at once")
    if table.players:
        print_ratings(table)
    else:
        printing.stdout().print("No games.")


def _table(answer: pb.GetBatchRatingsResponse) -> RatingTable:
    same = (*("rank", "rating", "error95", "wins", "draws", "losses"), *("opposition", "los_next", "group", "anchored"))
    players = tuple(
        RatedPlayer(name=short(row.bot), games=row.wins + row.draws + row.losses, **printing.picked(row, *same))
        for row in answer.ratings
    )
    bound = pb.AdvantageBound.Name(answer.advantage_bound).removeprefix("ADVANTAGE_BOUND_")
    return RatingTable(
        players=players,
        draw_rate=answer.draws / answer.games if answer.games else None,
        bound=AdvantageBound[bound],
        **printing.picked(answer, "games", "advantage", "advantage_error95", "prior"),
    )


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
    variant: Annotated[
        str | None,
        Option(
            "--variant",
            metavar="V",
            autocompletion=completion.variants,
            help="Variant. Default: `tictactoe`, or a variant that has games",
            rich_help_panel="Game",
        ),
    ] = None,
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
    limit: options.LimitOption = None,
    at: AtServer = AtServer(),
) -> None:
    """List the bots in a rating list, strongest first. Each variant and time class has a list.

    Default: the untimed tictactoe list or, if it is empty, the list with the most games. If its bots have 30
    games each on average, all games at once decide the order, and "1-3" are the ranks that they allow.
    Filters do not change ranks. See also `noughts bot show` and `noughts rating-lists`.
    """
    anchors = options.read_anchors(anchor)
    if (anchors or prior) and not fit:
        raise UsageProblem(f"{'--anchor' if anchors else '--prior'}: requires --fit as well")
    if fit and (owner or online or settled or view):
        raise UsageProblem("--fit: got --owner, --online, --settled or --view as well, expected only --min-games")
    read_variant = None if variant is None else options.read_variant(variant).name
    request = pb.GetLeaderboardRequest(
        owner=owner,
        online_only=online,
        min_games=min_games,
        exclude_provisional=settled,
        show_retired=retired,
        view=view,
    )
    answers: list[pb.GetLeaderboardResponse] = []

    def rows_of(page: pb.GetLeaderboardResponse) -> list[pb.LeaderboardRow]:
        answers.append(page)
        return list(page.rows)

    with at.connected() as client:
        known = known_lists(client)
        request.variant, request.time_class = chosen(known, read_variant, time_class)
        if fit:
            fit_request = pb.GetBatchRatingsRequest(
                variant=request.variant,
                time_class=request.time_class,
                min_games=min_games,
                prior=prior,
                anchors={bot_name(name): rating for name, rating in anchors.items()},
            )
            answer = client.call(client.leaderboards.GetBatchRatings, fit_request)
            table = _table(answer)
            output.show({"rating_list": answer.rating_list, **ratings_document(table)}, lambda: _print(answer, table))
            return
        pages = partial(client.each, client.leaderboards.GetLeaderboard, request, rows_of)
        rows = list(options.limited(pages, limit))
    name, shown = answers[0].rating_list, answers[0].view
    if output.is_json():
        fields = (*PLACE_FIELDS, *_VIEW_FIELDS, "owner", "online")
        documents = [{"rank": row.rank, "name": short(row.bot)} | printing.picked(row, *fields) for row in rows]
        printing.print_json({"rating_list": name, "view": shown.name, "rows": documents})
        return
    console = printing.stdout()
    printing.heading(console, name)
    console.print(f"{shown.title}: {shown.source}")
    if rows:
        print_rows(("bot", "owner"), [((short(row.bot), row.owner), row) for row in rows])
    elif owner or online or min_games or settled:
        console.print("No bot in this list matches the filters.")
    else:
        hint = "" if retired else " (or all are retired, see `--retired`)"
        console.print(f"No bot has a rating here yet{hint}.")
    if others := others_line(known, name):
        console.print(f"\n{others}", soft_wrap=True)


def known_lists(client: Client) -> list[KnownList]:
    request = pb.ListRatingListsRequest()
    found = client.each(client.leaderboards.ListRatingLists, request, lambda page: page.rating_lists)
    return [KnownList(row.variant, row.time_class, row.games) for row in found]


def _accuracy(row: pb.LeaderboardRow) -> str:
    share = shown_accuracy(row.decisions, row.blunders)
    return "-" if share is None else f"{share:.1%} of {row.decisions:,}"


def print_rows(columns: tuple[str, ...], rows: Sequence[tuple[tuple[object, ...], pb.LeaderboardRow]]) -> None:
    """Print a table with rank, the named columns, ratings and record, and a legend of its marks."""
    dot = "●" if printing.unicode() else "*"
    console = printing.stdout()
    viewed = any(row.HasField("view_rating") for _, row in rows)
    judged = any(shown_accuracy(row.decisions, row.blunders) is not None for _, row in rows)
    lines = [
        (
            _ranks(row),
            dot if row.online else "",
            *cells,
            *((printing.rating(row.view_rating), printing.rating(row.view_error95)) if viewed else ()),
            f"{printing.rating(row.rating)}{'?' if row.provisional else ' '}",
            f"{row.games:,}",
            f"{row.wins:,}",
            f"{row.draws:,}",
            f"{row.losses:,}",
            *([_accuracy(row)] if judged else ()),
        )
        for cells, row in rows
    ]
    ratings = (">rating", ">±", ">live Elo") if viewed else (">rating",)
    counts = (">games", ">wins", ">draws", ">losses", *([">accuracy"] if judged else ()))
    console.print(printing.table((">#", "", *columns, *ratings, *counts), lines))
    legend = []
    if any(row.online for _, row in rows):
        legend.append(f"{dot} online")
    if any(row.HasField("rank_low") for _, row in rows):
        legend.append("1-3: the ranks that the games allow (95 % for all at once)")
    if any(row.provisional for _, row in rows):
        legend.append("? provisional: too few games for a reliable rating")
    if legend:
        console.print("\n" + "   ".join(legend))


def _ranks(row: pb.LeaderboardRow) -> str:
    if not row.HasField("rank_low"):
        return str(row.rank)
    return f"{row.rank_low}-{row.rank_high}" if row.rank_low < row.rank_high else str(row.rank_low)
