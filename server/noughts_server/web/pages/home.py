"""The home page."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_server.web.pages.website import Website


async def home_page(website: Website, request: Request) -> Response:
    return await website.views.page(request, "home.html.jinja", **await website.front_page.content())
