"""The leaderboard of a rating list."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import leaderboards_pb2
from noughts_server.web import api_routes
from noughts_server.web.pages.listing import list_page, renamed_filters
from noughts_server.web.pages.website import Website

_FILTERS = ("owner", "search", "min_games", "online_only", "exclude_provisional", "view")


async def leaderboard_page(website: Website, request: Request) -> Response:
    if redirect := renamed_filters(request):
        return redirect
    query = request.query_params
    variant, time_class = query.get("variant", ""), query.get("time_class", "")
    list_all = leaderboards_pb2.ListRatingListsRequest(page_size=1000)
    lists = (await website.upstream.ask(website.upstream.leaderboards.ListRatingLists, list_all))["rating_lists"]
    if not variant and lists:
        # A list with games is more useful than the default one.
        fullest = max(lists, key=lambda rating_list: int(rating_list["games"]))
        variant, time_class = fullest["variant"], fullest["time_class"]
    page = await list_page(website, request, api_routes.LEADERBOARD, *_FILTERS, variant=variant, time_class=time_class)
    filters = {name: query.get(name, "").strip() for name in _FILTERS}
    return await website.views.page(request, "leaderboard.html.jinja", **page, lists=lists, filters=filters)
