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
from noughts_server.web.event_streams import Hub, Watcher
from noughts_server.web.openapi import openapi
from noughts_server.web.queries import FORMAT, request_for
from noughts_server.web.rendering import Rendering
from noughts_server.web.unchanged import answer
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.visitors import TRANSPORT, address_of

JSON, CSV = "application/json", "text/csv"
_HEADERS = {"cache-control": "no-cache", "vary": "accept"}


def api_routes(upstream: Upstream, hub: Hub, rendering: Rendering) -> list[Route]:
    """Return the routes of the API for starlette."""
    described = json.dumps(openapi(), indent=1).encode()

    async def describe(request: Request) -> Response:
        return answer(request, described, JSON, _HEADERS)

    return [
        Route(f"{PREFIX}/openapi.json", describe),
        *(Route(PREFIX + path, _Live(hub, path), methods=["GET"]) for path, _ in EVENTS),
        *(Route(PREFIX + route.path, _reading(upstream, route, rendering)) for route in ROUTES),
    ]


def _reading(
    upstream: Upstream, route: ApiRoute[Any, Any], rendering: Rendering
) -> Callable[[Request], Awaitable[Response]]:
    async def read(request: Request) -> Response:
        wanted = request_for(route, request.path_params, request.query_params.multi_items())
        kind = _kind(request, bool(route.rows))
        async with upstream.one_place(route.path):
            got = await upstream.call(route.method(upstream), wanted)

            def render() -> Response:
                shown = document(got)[route.within] if route.within else document(got)
                body = csv_text(shown[route.rows]).encode() if kind == CSV else json_bytes(shown)
                return answer(request, body, kind, _HEADERS | _next_page(request, shown))

            return await rendering.in_turn(request, route.path, render)

    return read


class _Live:
    """Streams the events of one resource."""

    def __init__(self, hub: Hub, path: str) -> None:
        self._hub = hub
        self._name = path.removeprefix("/").removesuffix("/events").replace(":int", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.query_params:
            raise Failure(400, "parameters: a stream takes none")
        name, last_event = self._name.format_map(request.path_params), request.headers.get("last-event-id", "")
        transport = scope.get("extensions", {}).get(TRANSPORT, {}).get("transport")
        async with self._hub.watching(name, address_of(scope), last_event, transport) as watcher:
            await _streamed(watcher, receive, send, body=request.method != "HEAD")


async def _streamed(watcher: Watcher, receive: Receive, send: Send, *, body: bool) -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def tell() -> None:
        if body:
            async for event in watcher.events():
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body"})

    async with asyncio.TaskGroup() as tasks:
        telling = tasks.create_task(tell())
        while (await receive())["type"] != "http.disconnect":  # which is also received after the whole response
            pass
        telling.cancel()


def json_bytes(shown: Any) -> bytes:
    return json.dumps(shown, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()


def failure_document(failure: Failure) -> Document:
    return {"error": {"status": failure.status, "message": failure.message, "hint": failure.hint}}


def _kind(request: Request, has_rows: bool) -> str:
    named = request.query_params.get(FORMAT)
    if named is not None and has_rows:
        kinds = {"json": JSON, "csv": CSV}
        if named not in kinds:
            raise Failure(400, f"parameter {FORMAT}: got {named[:100]!r}, expected json or csv")
        return kinds[named]
    accepted = request.headers.get("accept", "")
    return CSV if has_rows and CSV in accepted and JSON not in accepted else JSON


def _next_page(request: Request, shown: Document) -> dict[str, str]:
    token = shown.get("next_page_token")
    if not token:
        return {}
    url = request.url.include_query_params(page_token=token)
    return {"link": f'<{url.path}?{url.query}>; rel="next"'}
