"""The processes that run, and what the games of each machine show, for admins."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import status_pb2
from noughts_server.web.pages.website import Person, Website


async def nodes_page(website: Website, request: Request, person: Person) -> Response:
    """Return the page. The server refuses it to anyone but admins."""
    upstream = website.upstream
    answer = await upstream.ask(upstream.status.FindNodes, status_pb2.FindNodesRequest(), person.token)
    return await website.views.page(request, "nodes.html.jinja", nodes=answer["nodes"], machines=answer["machines"])
