"""The search for bots, owners and tournaments."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import bots_pb2, tournaments_pb2
from noughts_server.web.pages.website import Website

_MOST = 20
"""Results of each kind."""


async def search_page(website: Website, request: Request) -> Response:
    text, upstream = request.query_params.get("q", "").strip(), website.upstream
    guests_owner = await website.guests_owner()
    by_name = bots_pb2.ListBotsRequest(
        search=text, page_size=_MOST, exclude_guests_of=guests_owner, with_view_ratings=True
    )
    bots_by_name, bots_by_owner, tournaments = await asyncio.gather(
        upstream.ask(upstream.bots.ListBots, by_name),
        upstream.ask(upstream.bots.ListBots, bots_pb2.ListBotsRequest(owner=text or "-", page_size=_MOST)),
        upstream.ask(
            upstream.tournaments.ListTournaments,
            tournaments_pb2.ListTournamentsRequest(search=text, page_size=_MOST),
        ),
    )
    return await website.views.page(
        request,
        "search.html.jinja",
        text=text,
        bots=bots_by_name["bots"],
        owned=bots_by_owner["bots"],
        tournaments=tournaments["tournaments"],
    )
