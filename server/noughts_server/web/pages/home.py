"""The home page."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_server.web.documents import Document
from noughts_server.web.own_bots import OwnBots, own_bots
from noughts_server.web.pages.website import Website
from noughts_server.web.upstream import Failure


async def home_page(website: Website, request: Request) -> Response:
    content = await website.front_page.content()
    own = await _own_bots(website, request, content)
    return await website.views.page(request, "home.html.jinja", **content, own=own)


async def _own_bots(website: Website, request: Request, content: Document) -> OwnBots | None:
    """Return what the visitor's bots do; None for a visitor without bots, and if the server does not answer."""
    try:
        person = await website.person(request)
        bots = await website.bots_of(person) if person else []
        return await own_bots(website.upstream, bots, content["tournaments"]) if bots else None
    except Failure:
        return None  # the page shows the rest, as to a visitor
