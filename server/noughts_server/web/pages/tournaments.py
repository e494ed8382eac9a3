"""Lists of tournaments, and the seasons of a tournament that repeats."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_server.web import api_routes, words
from noughts_server.web.pages.listing import list_page
from noughts_server.web.pages.website import Website
from noughts_server.web.upstream import Failure


async def tournaments_page(website: Website, request: Request) -> Response:
    page = await list_page(website, request, api_routes.TOURNAMENTS, "challenges", "owner", "search", "state")
    challenges = request.query_params.get("challenges") == "true"
    return await website.views.page(request, "tournaments/tournaments.html.jinja", **page, challenges=challenges)


async def seasons_page(website: Website, request: Request) -> Response:
    page = await list_page(website, request, api_routes.SEASONS)
    if not page["league"]:
        raise Failure(404, "This tournament does not repeat.", "Its own page has its games and standings.")
    title = words.short(page["league"])
    return await website.views.page(request, "tournaments/seasons.html.jinja", **page, title=title)
