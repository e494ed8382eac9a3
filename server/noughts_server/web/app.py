"""The website as an ASGI application: routes, security headers, and error pages."""

import logging
import mimetypes
from collections.abc import Awaitable, Callable
from functools import cache
from hashlib import blake2b
from http import HTTPStatus
from importlib.resources import files

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noughts_server.core.errors import MachineExhausted
from noughts_server.core.messages import ENGLISH, _, in_language
from noughts_server.drawing.board_svg import board_css, board_script
from noughts_server.drawing.charts import curve_css, heat_map_css
from noughts_server.web.analyst import Analyst
from noughts_server.web.api import JSON, api_routes, failure_document, json_bytes
from noughts_server.web.api_registration import registration_routes
from noughts_server.web.api_routes import PREFIX
from noughts_server.web.downloads import Downloads
from noughts_server.web.event_streams import Hub
from noughts_server.web.example_bots import example_bot_routes
from noughts_server.web.handbook import handbook_routes
from noughts_server.web.http_play.routes import play_over_http_routes
from noughts_server.web.http_play.sessions import HttpPlay
from noughts_server.web.languages import script_files
from noughts_server.web.pages.front_page import FrontPage
from noughts_server.web.pages.routes import page_routes
from noughts_server.web.pages.website import Website
from noughts_server.web.play_tables import PlayTables
from noughts_server.web.signin import page_of_form, to_sign_in, visitor_of
from noughts_server.web.theme import with_theme_switch
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import POLICY, Views

logger = logging.getLogger("noughts.web")


class _Number(IntegerConvertor):
    """A whole number in a path, limited to as many digits as Python parses."""

    regex = "[0-9]{1,20}"


register_url_convertor("int", _Number())
_CACHED_FOR_A_YEAR = "public, max-age=31536000, immutable"
_HTTPS_ONLY = "max-age=31536000"
_CACHED_FOR_A_DAY = "public, max-age=86400"
_COMPRESSED_IN_A_THREAD = 16 << 10
"""Bodies of at least this number of bytes are compressed in a thread. In the event loop, this would delay others."""
_ROOT_FILES = ("favicon.ico", "robots.txt")
"""Static files that programs look for at fixed addresses."""


def site(
    upstream: Upstream,
    hub: Hub,
    play_tables: PlayTables | None,
    http_play: HttpPlay,
    analyst: Analyst | None = None,
    *,
    secure: bool = False,
    signing_in: bool = True,
    public_url: str = "",
) -> ASGIApp:
    """Return the application.

    Without `play_tables`, visitors cannot play. `analyst` judges positions of games. `secure` means that browsers use
    HTTPS; `signing_in`, that visitors can send tokens.
    """
    folder, contents = static_files()
    views = Views(folder, signing_in=signing_in, playing=play_tables is not None, public_url=public_url)
    website = Website(
        upstream=upstream,
        hub=hub,
        views=views,
        front_page=FrontPage(upstream, hub),
        play_tables=play_tables,
        analyst=analyst,
        secure=secure,
    )

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if request.path_params["version"] != folder or name not in contents:
            raise Failure(404, f"There is no file {name}.", "Reload the page: the website has been updated.")
        kind, body = contents[name]
        return Response(body, media_type=kind, headers={"cache-control": _CACHED_FOR_A_YEAR})

    async def root_file(request: Request) -> Response:
        kind, body = contents[request.url.path.removeprefix("/")]
        return Response(body, media_type=kind, headers={"cache-control": _CACHED_FOR_A_DAY})

    routes = [
        *play_over_http_routes(http_play, views, signing_in=signing_in),  # the first ones are found fastest
        *page_routes(website, signing_in=signing_in),
        *Downloads(upstream, views.rendering).routes(),
        *registration_routes(upstream, signing_in=signing_in),
        *api_routes(upstream, hub, views.rendering),
        *example_bot_routes(views),
        *handbook_routes(),
        Route("/static/{version}/{name}", static),
        *(Route(f"/{name}", root_file) for name in _ROOT_FILES),
    ]
    application = Starlette(routes=routes, exception_handlers=_handlers(views))
    # Compression cannot leak secrets: the cookie is SameSite=Strict, so no other site can make a signed-in request.
    return _SafeHeaders(
        GZipMiddleware(application, compresslevel=6, thread_minimum_size=_COMPRESSED_IN_A_THREAD), secure=secure
    )


@cache
def static_files() -> tuple[str, dict[str, tuple[str, bytes]]]:
    """Return the version of all static files together, and the kind and content of each file by name."""
    contents = {file.name: file.read_bytes() for file in (files(__package__) / "static").iterdir()}
    contents |= {
        "board.css": board_css().encode(),
        "board.js": board_script().encode(),
        "curve.css": curve_css().encode(),
        "heat_map.css": heat_map_css().encode(),
        **script_files(),
    }
    for name in ("board.css", "heat_map.css", "site.css"):
        style_sheet = contents[name].decode()
        contents[name] = with_theme_switch(style_sheet).encode()
    contents = dict(sorted(contents.items()))
    digest = blake2b(digest_size=6)
    for name, body in contents.items():
        digest.update(name.encode() + b"\0" + body + b"\0")
    kinds = {name: mimetypes.guess_type(name)[0] or "application/octet-stream" for name in contents}
    return digest.hexdigest(), {name: (kinds[name], body) for name, body in contents.items()}


def _handlers(views: Views) -> "dict[type[Exception] | int, Callable[[Request, Exception], Awaitable[Response]]]":
    """Return the functions that turn errors into responses, by the type of the error."""

    async def failure_response(request: Request, error: Exception) -> Response:
        failure = error if isinstance(error, Failure) else _UNEXPECTED
        if failure.status == 401 and visitor_of(request) and not request.url.path.startswith(PREFIX):
            return to_sign_in(request, expired=True)
        return await _failure_page(views, request, failure)

    async def http_error_response(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        allowed = (error.headers or {}).get("Allow", "") if isinstance(error, HTTPException) else ""
        methods = ", ".join(sorted(allowed.split(", ")))
        is_page = not request.url.path.startswith(PREFIX)
        if status == 405 and request.method in ("GET", "HEAD") and is_page:
            status = 404  # this address only receives a form, so there is no page to read
        with in_language(views.language(request, _NOT_FOUND_PAGE) if is_page else ENGLISH):
            texts = {
                404: (_("There is no such page."), _("Check the address, or go to the start page.")),
                405: ("This address is read-only." if "GET" in methods else f"This address only takes {methods}.", ""),
            }
        message, hint = texts.get(status, (f"This request failed ({status}).", ""))
        return await _failure_page(views, request, Failure(status, message, hint), methods)

    async def disconnected_response(request: Request, error: Exception) -> Response:
        return Response(status_code=400)  # the client has disconnected

    async def machine_error_response(request: Request, error: Exception) -> Response:
        machine_problem = MachineExhausted.of(error)
        if machine_problem is None:
            raise error
        logger.error("%s: %s. Fix: %s", machine_problem.problem, machine_problem.report, machine_problem.remedy)
        return await _failure_page(
            views,
            request,
            Failure(503, f"The website cannot do this now: {machine_problem.problem}.", machine_problem.hint),
        )

    return {
        Failure: failure_response,
        HTTPException: http_error_response,
        ClientDisconnect: disconnected_response,
        OSError: machine_error_response,
        MemoryError: machine_error_response,
        Exception: failure_response,
    }


_NOT_FOUND_PAGE = "not_found.html.jinja"
_UNEXPECTED = Failure(500, "An internal error occurred.", "Try again, or contact the operator; the log has details.")


async def _failure_page(views: Views, request: Request, failure: Failure, methods: str = "") -> Response:
    """Return the page or the document of a failure. `methods` are those of the address, for status 405."""
    headers = {"cache-control": "no-store"}
    if failure.status == 503:
        headers["retry-after"] = "3"
    if failure.status == 405:
        headers["allow"] = methods
    if failure.status == 429:
        headers["retry-after"] = "5"
    if failure.status == 401:
        headers["www-authenticate"] = "Bearer"
    if request.url.path.startswith(PREFIX):
        return Response(json_bytes(failure_document(failure)), failure.status, headers, media_type=JSON)
    back = page_of_form(request) if request.method == "POST" else ""
    if failure.status == HTTPStatus.NOT_FOUND and not back:
        return await views.page(request, _NOT_FOUND_PAGE, failure, headers)
    return await views.page(request, "failed.html.jinja", failure, headers, back=back)


class _SafeHeaders:
    """Adds the security headers to each response. `secure` means that browsers must use HTTPS from then on."""

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self._app = app
        self._secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("content-security-policy", POLICY)
                headers["x-content-type-options"] = "nosniff"
                if self._secure:
                    headers["strict-transport-security"] = _HTTPS_ONLY
                headers["referrer-policy"] = "same-origin"
                headers["cross-origin-opener-policy"] = "same-origin"
            await send(message)

        await self._app(scope, receive, with_headers)
