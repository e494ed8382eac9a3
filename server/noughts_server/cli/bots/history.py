"""The record of bots on a server: `noughts bot show`, `history`, `games`."""

from functools import partial
from typing import Annotated, Any

from typer import Option

from noughts_proto.v1 import bots_pb2, games_pb2
from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import completion, options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.drawing.chart import line_chart
from noughts_server.cli.drawing.game import game_document
from noughts_server.cli.drawing.games_of_bots import print_games
from noughts_server.cli.drawing.leaderboard import place_document, print_places
from noughts_server.cli.former_command import command
from noughts_server.cli.options.game import read_variant
from noughts_server.cli.options.game_filter import GameFilter
from noughts_server.cli.options.names import BotArgument
from noughts_server.cli.options.output import LimitOption
from noughts_server.cli.options.time import TimeClassOption
from noughts_server.cli.rating_lists import KnownList, choose_list, others_line
from noughts_server.cli.times import exact, iso, milliseconds
from noughts_server.cli.typed_names import read_bot_without_version, read_tournament
from noughts_server.client.client import Client
from noughts_server.core.resource_names import short

_CHART_WIDTH, _CHART_HEIGHT = 60, 8
_SHOWN_POINTS = 10
_RATING_LISTS = 1_000


@command(
    example="""
$ noughts bot show mybot
mybot: alice's, version 1, online
#     list               rating  games  wins  draws  losses      accuracy
...
1  ●  tictactoe/untimed   1644?     20    16      4       0  ...% of ...
...
"""
)
def show(
    name: BotArgument,
    at: AtServer = AtServer(),
) -> None:
    """Show one bot: owner, state, and its rating and record in each rating list."""
    resource = read_bot_without_version(name)
    with at.connected() as client:
        answer = client.call(client.bots.GetBot, bots_pb2.GetBotRequest(name=resource))
        ratings = _ratings(client, resource)
    shown = answer.bot
    newest = next(iter(answer.versions), None)
    handed_in = newest.submission if newest is not None and newest.HasField("submission") else None
    version = shown.latest_version.rpartition("/")[2]
    if output.is_json():
        rows = [{"rating_list": row.rating_list, **place_document(row.row)} for row in ratings]
        about = {"name": short(shown.name), **printing.picked(shown, "owner", "latest_version", "online")}
        retired_at = iso(milliseconds(shown, "retire_time"))
        printing.print_json(
            {**about, "retired": retired_at, "ratings": rows, "submission": _submission_document(handed_in)}
        )
        return
    console = printing.stdout()
    online = "online" if shown.online else "offline"
    retired = ", retired" if shown.HasField("retire_time") else ""
    printing.heading(console, f"{short(shown.name)}: {shown.owner}'s, version {version}, {online}{retired}")
    if handed_in is not None:
        console.print(f"Submitted as {handed_in.kind}: {handed_in.file_name}, {handed_in.size:,} bytes.")
    if ratings:
        print_places(("list",), [((row.rating_list,), row.row) for row in ratings])
    else:
        console.print("No rated game yet.")


def _ratings(client: Client, bot: str) -> list[pb.BotRating]:
    request = pb.ListBotRatingsRequest(bot=bot)
    return list(client.each(client.leaderboards.ListBotRatings, request, lambda page: page.ratings, _RATING_LISTS))


def _submission_document(handed_in: bots_pb2.Submission | None) -> dict[str, Any] | None:
    if handed_in is None:
        return None
    known = {"kind": handed_in.kind, "entry": handed_in.entry, "bytes": handed_in.size}
    return {**known, "sha256": handed_in.sha256.hex(), "file_name": handed_in.file_name}


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
    at: AtServer = AtServer(),
) -> None:
    """Plot a bot's rating in one rating list against its number of rated games.

    Default: the untimed tictactoe list or, if it is empty, the list in which the bot has the most games. There
    is a point for each of the first 64 games, then 32 points each time the number of games doubles.
    """
    resource = read_bot_without_version(name)
    parsed_variant = None if variant is None else read_variant(variant).name
    with at.connected() as client:
        known = [KnownList.of(row.rating_list, row.row.games) for row in _ratings(client, resource)]
        request = pb.GetRatingHistoryRequest(bot=resource)
        request.variant, request.time_class = choose_list(known, parsed_variant, time_class)
        found = client.call(client.leaderboards.GetRatingHistory, request)
    if output.is_json():
        points = [{**printing.picked(point, "games", "rating"), "time": exact(point, "time")} for point in found.points]
        rating = found.rating if found.games else None
        about = {"name": short(resource), "rating_list": found.rating_list, "rating": rating, "games": found.games}
        printing.print_json({**about, "points": points})
        return
    _print_history(short(resource), found)
    if others := others_line(known, found.rating_list):
        printing.stdout().print(f"\n{others}", soft_wrap=True)


@command(
    example="""
$ noughts bot games mybot --opponent rival --limit 2
...
game       first  second  result   termination  plies
...
autumn/20  rival  mybot   ...
...
"""
)
def games(
    name: BotArgument,
    game_filter: GameFilter,
    opponent: Annotated[
        str, Option("--opponent", metavar="NAME", autocompletion=completion.bots, help="Only games against this bot")
    ] = "",
    tournament: Annotated[
        str,
        Option(
            "--tournament", metavar="ID", autocompletion=completion.tournaments, help="Only games in this tournament"
        ),
    ] = "",
    limit: LimitOption = None,
    at: AtServer = AtServer(),
) -> None:
    """List the games of all versions of a bot: newest tournament first, then highest number first."""
    request = games_pb2.ListGamesRequest(
        parent=read_bot_without_version(name),
        opponent=read_bot_without_version(opponent) if opponent else "",
        tournament=read_tournament(tournament) if tournament else "",
    )
    game_filter.apply(request)
    with at.connected() as client:
        pages = partial(client.each, client.games.ListGames, request, lambda page: page.games)
        rows = options.limited(pages, limit)
        against = f" against {short(request.opponent)}" if opponent else ""
        empty = f"No {'such ' * game_filter.is_set}games of {short(request.parent)}{against} yet."
        output.show_each(map(game_document, rows), lambda: print_games(rows, empty))


def _print_history(name: str, found: pb.GetRatingHistoryResponse) -> None:
    console = printing.stdout()
    printing.heading(console, f"{name} in {found.rating_list}")
    if not found.games:
        console.print("No rated game here yet.")
        return
    line = [(float(point.games), point.rating) for point in found.points]
    if not line or line[-1][0] != found.games:
        line.append((float(found.games), found.rating))
    low, high = min(y for _, y in line), max(y for _, y in line)
    labels = {0: printing.rating(high), _CHART_HEIGHT - 1: printing.rating(low)}
    for number, text in enumerate(line_chart(line, _CHART_WIDTH, _CHART_HEIGHT, unicode=printing.unicode())):
        console.print(
            f"{labels.get(number, ''):>6} {'┤' if printing.unicode() else '|'}{text.rstrip()}", soft_wrap=True
        )
    last = f"{printing.count(found.games, 'game')}"
    first = f"{line[0][0]:,.0f}"
    console.print(f"{'':>8}{first}{last:>{max(_CHART_WIDTH - len(first), len(last) + 1)}}\n", soft_wrap=True)
    rows = [
        (f"{point.games:,}", printing.rating(point.rating), (exact(point, "time") or "")[:19].replace("T", " "))
        for point in found.points[-_SHOWN_POINTS:]
    ]
    console.print(printing.table((">after games", ">rating", "counted (UTC)"), rows))
    console.print(f"\nNow {printing.rating(found.rating)} after {printing.count(found.games, 'rated game')}.")
