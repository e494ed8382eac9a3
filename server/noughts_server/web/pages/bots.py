"""The list of bots, the page of a bot, and the games of two bots against each other."""

import asyncio
from itertools import zip_longest

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2
from noughts_server.core.resource_names import bot_name, tournament_name
from noughts_server.drawing.charts import DrawnChart, rating_line
from noughts_server.web import api_routes, words
from noughts_server.web.documents import Document
from noughts_server.web.pages.challenges import possible_challengers
from noughts_server.web.pages.listing import PAGE_SIZE, list_page, next_page, renamed_filters
from noughts_server.web.pages.website import Website

_FILTERS = ("owner", "search", "online_only")
_RECENT = 20
"""Games on the page of a bot."""
_MOST_CURVES = 10
"""Lists whose curve of ratings the page shows."""


async def bots_page(website: Website, request: Request) -> Response:
    if redirect := renamed_filters(request):
        return redirect
    page = await list_page(website, request, api_routes.BOTS, *_FILTERS)
    filters = {name: request.query_params.get(name, "").strip() for name in _FILTERS}
    return await website.views.page(request, "bots/bots.html.jinja", **page, filters=filters)


async def bot_page(website: Website, request: Request) -> Response:
    upstream, name = website.upstream, bot_name(request.path_params["bot"])
    response, ratings, games, statistics = await asyncio.gather(
        upstream.ask(upstream.bots.GetBot, bots_pb2.GetBotRequest(name=name)),
        upstream.ask(upstream.leaderboards.ListBotRatings, leaderboards_pb2.ListBotRatingsRequest(bot=name)),
        upstream.ask(upstream.games.ListGames, games_pb2.ListGamesRequest(parent=name, page_size=_RECENT)),
        upstream.ask(upstream.leaderboards.GetBotStatistics, leaderboards_pb2.GetBotStatisticsRequest(bot=name)),
    )
    bot, versions = response["bot"], response["versions"]
    curves = await asyncio.gather(
        *(_rating_curve(website, name, rating, versions) for rating in ratings["ratings"][:_MOST_CURVES])
    )
    return await website.views.page(
        request,
        "bots/bot.html.jinja",
        bot=bot,
        statistics=statistics,
        games=games["games"],
        rivals=await possible_challengers(website, request, bot),
        ratings=list(zip_longest(ratings["ratings"], curves)),
        submission=versions[0]["submission"] if versions else None,
    )


async def _rating_curve(website: Website, bot: str, rating: Document, versions: list[Document]) -> DrawnChart | None:
    """Return the rating in one list against the number of games, with marks at the starts of versions."""
    variant, _, time_class = rating["rating_list"].rpartition("/")
    get_history = leaderboards_pb2.GetRatingHistoryRequest(bot=bot, variant=variant, time_class=time_class)
    points = (await website.upstream.ask(website.upstream.leaderboards.GetRatingHistory, get_history))["points"]
    version_starts = []
    for version in reversed(versions):
        # The texts of times compare like the times. The first version needs no mark.
        first_games = next((point["games"] for point in points if point["time"] >= version["create_time"]), None)
        if first_games is not None and points and first_games > points[0]["games"]:
            version_starts.append((first_games, words.number(version["name"])))
    return rating_line(points, version_starts)


async def against_page(website: Website, request: Request) -> Response:
    upstream = website.upstream
    bot, opponent = (bot_name(request.path_params[parameter]) for parameter in ("bot", "opponent"))
    tournament = request.query_params.get("tournament", "")
    list_games = games_pb2.ListGamesRequest(
        parent=bot,
        opponent=opponent,
        tournament=tournament_name(tournament) if tournament else "",
        page_size=PAGE_SIZE,
        page_token=request.query_params.get("page_token", ""),
    )
    get_head_to_head = leaderboards_pb2.GetHeadToHeadRequest(bot=bot, opponent=opponent)
    head_to_head, games = await asyncio.gather(
        upstream.ask(upstream.leaderboards.GetHeadToHead, get_head_to_head),
        upstream.ask(upstream.games.ListGames, list_games),
    )
    values: Document = {"bot": bot, "opponent": opponent, "tournament": tournament, **head_to_head}
    values |= {"games": games["games"], "next_page": next_page(request, games)}
    return await website.views.page(request, "bots/against.html.jinja", **values)
