"""The route of the JSON API with which newcomers register. It answers what `noughts join` needs."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from noughts_proto.v1 import registration_pb2
from noughts_server.web.api import JSON, json_bytes
from noughts_server.web.api_routes import PREFIX, REGISTRATION
from noughts_server.web.json_bodies import read_message
from noughts_server.web.upstream import Failure, Upstream

_SECRET = {"cache-control": "no-store"}


def registration_routes(upstream: Upstream, *, signing_in: bool) -> list[Route]:
    """Return the route for starlette. Without `signing_in`, others could read tokens, and the route refuses."""

    async def register(request: Request) -> Response:
        message = registration_pb2.RegisterRequest()
        await read_message(request, message)
        answer = await upstream.register(message)
        return Response(json_bytes(answer), 201, _SECRET, media_type=JSON)

    async def refuse(request: Request) -> Response:
        raise Failure(403, "This website is open to other machines without encryption, so it sends no tokens.")

    handler: Callable[[Request], Awaitable[Response]] = register if signing_in else refuse
    return [Route(PREFIX + REGISTRATION.path, handler, methods=["POST"])]
