"""The list of bots, the page of a bot, and the games of two bots against each other."""

import asyncio
from collections.abc import Mapping
from itertools import zip_longest
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2
from noughts_referee.rules import VariantError, parse_variant
from noughts_server.core.messages import Language, in_language
from noughts_server.core.resource_names import bot_name, tournament_name
from noughts_server.drawing.charts import DrawnChart, rating_bars, rating_line
from noughts_server.web import api_routes, words
from noughts_server.web.documents import Document
from noughts_server.web.forms import in_form
from noughts_server.web.house_bots import LEVELS_OWNER, level_bots
from noughts_server.web.pages.listing import PAGE_SIZE, list_page, next_page, renamed_filters
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.ratings import shown_rating
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure

_BOT_PAGE = "bots/bot.html.jinja"
_FILTERS = ("owner", "search", "online_only", "rating_list")
_DESCRIPTION_FORM = ("description", "link")
CHALLENGE_FORM = {"challenger": "", "variant": "", "games": "2", "move": "1"}
"""The fields of the form for a challenge, with their values in an empty form."""
_RECENT = 20
"""Games on the page of a bot."""
BIN_WIDTH = 50
"""The width of the intervals in which the server counts ratings, in points."""
_MOST_CURVES = 10
"""Lists whose curve of ratings the page shows."""


async def bots_page(website: Website, request: Request) -> Response:
    if redirect := renamed_filters(request):
        return redirect
    query = request.query_params
    filters = {name: query.get(name, "").strip() for name in _FILTERS}
    # Ratings in different games cannot be compared.
    order = query.get("order", "") or ("rating" if filters["rating_list"] else "games")
    list_all = leaderboards_pb2.ListRatingListsRequest(page_size=1000)
    defaults = {"order": order, "with_view_ratings": "true"}
    # So many levels would hide the bots of authors. The page lists them apart.
    folds_levels = not (filters["owner"] or filters["search"])
    if folds_levels:
        defaults["exclude_anchors"] = "true"
    guests_owner = await website.guests_owner()
    if guests_owner and guests_owner != filters["owner"]:
        defaults["exclude_guests_of"] = guests_owner
    list_levels = bots_pb2.ListBotsRequest(
        owner=LEVELS_OWNER,
        online_only=bool(filters["online_only"]),
        rating_list=filters["rating_list"],
        page_size=1000,
    )
    page, lists, house = await asyncio.gather(
        list_page(website, request, api_routes.BOTS, *_FILTERS, defaults=defaults),
        website.upstream.ask(website.upstream.leaderboards.ListRatingLists, list_all),
        website.upstream.ask(website.upstream.bots.ListBots, list_levels),
    )
    if order == "rating":
        # The server sorts by the live rating. The page shows the rating of the leaderboard, which can differ a little.
        page["bots"].sort(key=lambda bot: shown_rating(bot["summary"]), reverse=True)
    return await website.views.page(
        request,
        "bots/bots.html.jinja",
        **page,
        filters=filters,
        chosen_order=order,
        lists=lists["rating_lists"],
        levels=level_bots(house["bots"]) if folds_levels else {},
    )


async def records_page(website: Website, request: Request) -> Response:
    upstream = website.upstream
    response = await upstream.ask(upstream.leaderboards.GetRecords, leaderboards_pb2.GetRecordsRequest())
    records = map(_beatable, response["records"])
    return await website.views.page(request, "bots/records.html.jinja", records=list(records))


def _beatable(records: Document) -> Document:
    """Return the records of a variant without games that cannot be longer or wins that cannot be quicker."""
    try:
        rules = parse_variant(records["variant"])
    except VariantError:
        return records  # of a plugin that is not installed here
    limits = {"longest": rules.cells, "shortest": rules.shortest_win}
    games = {name: records[name] for name in limits}
    final = {name for name, game in games.items() if game and len(game["moves"]) == limits[name]}
    return records | dict.fromkeys(final)


async def bot_page(
    website: Website,
    request: Request,
    failure: Failure | None = None,
    *,
    texts: Mapping[str, str] | None = None,
    wish: Mapping[str, str] | None = None,
    name: str = "",
) -> Response:
    """Return the page of the bot with this name, by default the one of the address.

    It can show the failure of a form, with the values that were sent: the `texts` that describe the bot, or the `wish`
    for a challenge.
    """
    upstream, name = website.upstream, bot_name(name or request.path_params["bot"])
    response, ratings, games, statistics = await asyncio.gather(
        upstream.ask(upstream.bots.GetBot, bots_pb2.GetBotRequest(name=name)),
        upstream.ask(upstream.leaderboards.ListBotRatings, leaderboards_pb2.ListBotRatingsRequest(bot=name)),
        upstream.ask(upstream.games.ListGames, games_pb2.ListGamesRequest(parent=name, page_size=_RECENT)),
        upstream.ask(upstream.leaderboards.GetBotStatistics, leaderboards_pb2.GetBotStatisticsRequest(bot=name)),
    )
    bot, versions = response["bot"], response["versions"]
    lists = ratings["ratings"]
    most_played = max(lists, key=lambda rating: int(rating["row"]["games"]), default={"rating_list": ""})
    chosen = request.query_params.get("list", "") or most_played["rating_list"]
    language = website.views.language(request, _BOT_PAGE)
    curves = await asyncio.gather(
        *(
            _rating_curves(website, name, rating, versions, language, chosen=rating["rating_list"] == chosen)
            for rating in lists[:_MOST_CURVES]
        )
    )
    person = await website.person(request)
    return await website.views.page(
        request,
        _BOT_PAGE,
        failure,
        bot=bot,
        chosen=chosen,
        running_game=response["running_game"],
        texts=texts or {name: bot[name] for name in _DESCRIPTION_FORM},
        wish=wish or CHALLENGE_FORM | {"variant": chosen.rpartition("/")[0]},
        failed_form="" if failure is None else "challenge" if wish else "describe",
        edits=person is not None and (person.owner == bot["owner"] or person.is_admin),
        statistics=statistics,
        games=sorted(games["games"], key=lambda game: str(game["end_time"]), reverse=True),
        rivals=await _possible_challengers(website, person, bot),
        ratings=list(zip_longest(lists, curves, fillvalue=_Curves())),
        submission=versions[0]["submission"] if versions else None,
    )


async def describe_bot(website: Website, request: Request, person: Person) -> Response:
    """Change what the page of the bot says about it."""
    form = await read_form(request)
    name = bot_name(request.path_params["bot"])
    texts = {field: form.get(field, "") for field in _DESCRIPTION_FORM}
    update = bots_pb2.UpdateBotRequest(name=name, description=texts["description"], link=texts["link"])
    try:
        await website.upstream.ask(website.upstream.bots.UpdateBot, update, person.token)
    except Failure as failure:
        if failure.status != 400:
            raise
        return await bot_page(website, request, in_form(failure, _DESCRIPTION_FORM), texts=texts)
    return RedirectResponse(f"/{name}", 303)


async def _possible_challengers(website: Website, person: Person | None, bot: Document) -> list[Document]:
    """Return the signed-in user's bots that can challenge this one now."""
    if person is None or not bot["online"]:
        return []
    own_bots = await website.bots_of(person)
    return [own_bot for own_bot in own_bots if own_bot["online"] and own_bot["name"] != bot["name"]]


class _Curves(NamedTuple):
    """The charts of a rating."""

    line: DrawnChart | None = None
    """The rating against the number of games."""
    distribution: DrawnChart | None = None
    """The ratings of all bots in the list; None unless the page shows them."""


async def _rating_curves(
    website: Website, bot: str, rating: Document, versions: list[Document], language: Language, *, chosen: bool
) -> _Curves:
    """Return the charts of the rating in one list, with marks at the starts of versions."""
    variant, _, time_class = rating["rating_list"].rpartition("/")
    get_history = leaderboards_pb2.GetRatingHistoryRequest(
        bot=bot, variant=variant, time_class=time_class, distribution=chosen
    )
    history = await website.upstream.ask(website.upstream.leaderboards.GetRatingHistory, get_history)
    points = history["points"]
    version_starts = []
    for version in reversed(versions):
        # The texts of times compare like the times. The first version needs no mark.
        first_games = next((point["games"] for point in points if point["time"] >= version["create_time"]), None)
        if first_games is not None and points and first_games > points[0]["games"]:
            version_starts.append((first_games, words.number(version["name"])))
    bins = [(each["rating"], each["bots"]) for each in history["distribution"]]
    with in_language(language):
        return _Curves(rating_line(points, version_starts), rating_bars(bins, BIN_WIDTH, history["rating"]))


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
