"""The results that look arranged, for admins."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import leaderboards_pb2
from noughts_server.web.pages.website import Person, Website


async def suspicious_page(website: Website, request: Request, person: Person) -> Response:
    """Return the page. The server refuses it to anyone but admins."""
    upstream = website.upstream
    find = leaderboards_pb2.FindSuspiciousResultsRequest()
    results = (await upstream.ask(upstream.leaderboards.FindSuspiciousResults, find, person.token))["results"]
    return await website.views.page(request, "suspicious.html.jinja", results=results)
