"""The JSON API: its routes, and live events."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from noughts_server.web.api_routes import EVENTS, PREFIX, ROUTES, ApiRoute
from noughts_server.web.documents import Document, csv_text, document
from noughts_server.web.event_streams import Hub, Watcher, with_boards
from noughts_server.web.forms import whole_number
from noughts_server.web.openapi import openapi
from noughts_server.web.queries import FORMAT, request_for
from noughts_server.web.rendering import Rendering
from noughts_server.web.signin import is_from_another_site
from noughts_server.web.unchanged import tagged_response
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.visitors import TRANSPORT, address_of

_MOST_BOARDS = 9
"""The limit of the server, which accepts 4 and 9."""
JSON, CSV = "application/json", "text/csv"
_HEADERS = {"cache-control": "no-cache", "vary": "accept"}


def api_routes(upstream: Upstream, hub: Hub, rendering: Rendering) -> list[Route]:
    """Return the routes of the API for starlette."""
    openapi_bytes = json.dumps(openapi(), indent=1).encode()

    async def describe(request: Request) -> Response:
        return tagged_response(request, openapi_bytes, JSON, _HEADERS)

    return [
        Route(f"{PREFIX}/openapi.json", describe),
        *(Route(PREFIX + path, _Live(hub, path), methods=["GET"]) for path, _ in EVENTS),
        *(Route(PREFIX + route.path, _handler(upstream, route, rendering)) for route in ROUTES),
    ]


def _handler(
    upstream: Upstream, route: ApiRoute[Any, Any], rendering: Rendering
) -> Callable[[Request], Awaitable[Response]]:
    async def read(request: Request) -> Response:
        call_request = request_for(route, request.path_params, request.query_params.multi_items())
        if route.without_work and is_from_another_site(request):
            setattr(call_request, route.without_work, True)
        kind = _kind(request, bool(route.rows))
        async with upstream.one_place(route.path):
            response = await upstream.call(route.method(upstream), call_request)

            def render() -> Response:
                content = document(response)[route.within] if route.within else document(response)
                body = csv_text(content[route.rows]).encode() if kind == CSV else json_bytes(content)
                return tagged_response(request, body, kind, _HEADERS | _next_page(request, content))

            return await rendering.in_turn(request, route.path, render)

    return read


class _Live:
    """Streams the events of one resource."""

    def __init__(self, hub: Hub, path: str) -> None:
        self._hub = hub
        self._name = path.removeprefix("/").removesuffix("/events").replace(":int", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        name = self._name.format_map(request.path_params)
        known = set() if "/games/" in name else {"boards"}
        for parameter in request.query_params.keys() - known:
            hint = f"Known: {', '.join(known) or 'none'}."
            raise Failure(400, f"parameter {parameter!r}: unknown", hint)
        if boards := request.query_params.get("boards"):
            name = with_boards(name, whole_number("boards", boards, 0, _MOST_BOARDS))
        last_event = request.headers.get("last-event-id", "")
        transport = scope.get("extensions", {}).get(TRANSPORT, {}).get("transport")
        async with self._hub.watching(name, address_of(scope), last_event, transport) as watcher:
            await _send_stream(watcher, receive, send, body=request.method != "HEAD")


async def _send_stream(watcher: Watcher, receive: Receive, send: Send, *, body: bool) -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def send_events() -> None:
        if body:
            async for event in watcher.events():
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body"})

    async with asyncio.TaskGroup() as tasks:
        sender = tasks.create_task(send_events())
        # This message also arrives after the complete response.
        while (await receive())["type"] != "http.disconnect":
            pass
        sender.cancel()


def json_bytes(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()


def failure_document(failure: Failure) -> Document:
    return {"error": {"status": failure.status, "message": failure.message, "hint": failure.hint}}


def _kind(request: Request, has_rows: bool) -> str:
    """Return the MIME type to send. Raises Failure for an unknown format. Only routes with rows can send CSV."""
    format_name = request.query_params.get(FORMAT)
    if format_name is not None and has_rows:
        kinds = {"json": JSON, "csv": CSV}
        if format_name not in kinds:
            raise Failure(400, f"parameter {FORMAT}: got {format_name[:100]!r}, expected json or csv")
        return kinds[format_name]
    accepted = request.headers.get("accept", "")
    return CSV if has_rows and CSV in accepted and JSON not in accepted else JSON


def _next_page(request: Request, content: Document) -> dict[str, str]:
    """Return the header that links to the next page; empty on the last one."""
    token = content.get("next_page_token")
    if not token:
        return {}
    url = request.url.include_query_params(page_token=token)
    return {"link": f'<{url.path}?{url.query}>; rel="next"'}
