"""The addresses of play over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from noughts_server.web.api import JSON, json_bytes
from noughts_server.web.api_routes import PREFIX
from noughts_server.web.documents import Document
from noughts_server.web.http_play.book import CONFLICT
from noughts_server.web.http_play.forms import read_moves, read_new_session
from noughts_server.web.http_play.session import PlaySession
from noughts_server.web.http_play.sessions import HttpPlay
from noughts_server.web.play_contract import ANSWER, LEAVE, LONGEST_WAIT_SECONDS, OPEN, PLAY, TURNS, PlayRoute
from noughts_server.web.signin import could_be_token
from noughts_server.web.upstream import Failure
from noughts_server.web.views import Views
from noughts_server.web.visitors import address_of

_SCHEME = "bearer "
_HEADERS = {"cache-control": "no-store"}
_MOST_DIGITS = 16

Handler = Callable[[HttpPlay, Views, Request], Awaitable[Response]]


def play_over_http_routes(play: HttpPlay, views: Views, *, signing_in: bool) -> list[Route]:
    """Return the routes for starlette. Without `signing_in`, each explains that others could read the token."""
    handlers: tuple[tuple[PlayRoute, Handler], ...] = (
        (OPEN, _open),
        (TURNS, _turns),
        (ANSWER, _moves),
        (LEAVE, _leave),
    )
    return [
        Route(PREFIX + route.path, partial(handler if signing_in else _refuse, play, views), methods=[route.method])
        for route, handler in handlers
    ]


async def _refuse(play: HttpPlay, views: Views, request: Request) -> Response:
    hint = "Use the HTTPS address of this website, or ask its operator: noughts web --https behind a proxy with TLS."
    raise Failure(403, "This website takes no tokens, because others could read them on the way.", hint)


async def _open(play: HttpPlay, views: Views, request: Request) -> Response:
    token = _token(request)
    session = await play.open(await read_new_session(request), token, address_of(request.scope))
    welcome = session.welcome
    document = {
        "session": session.id,
        "bot": welcome.bot,
        "version": welcome.version,
        "page": f"{views.base(request)}/{welcome.bot}",
        "capacity": welcome.max_games,
        "keep_alive_seconds": play.settings.idle,
        "longest_wait_seconds": play.settings.longest_wait,
        "reconnect_seconds": welcome.grace_ms / 1000,
        "margin_us": welcome.margin_us,
        "network_cap_us": welcome.network_cap_us,
        "comment_bytes": welcome.comment_bytes,
        "waits_for": list(welcome.waits_for),
    }
    return _json(document, OPEN.status, {"location": f"{PREFIX}{PLAY}/{session.id}"})


async def _turns(play: HttpPlay, views: Views, request: Request) -> Response:
    wait, after = _waiting(request)
    async with play.request(request.path_params["session"], _token(request)) as session:
        return _json(await _report(session, views, request, wait or 0.0, after))


async def _moves(play: HttpPlay, views: Views, request: Request) -> Response:
    wait, after = _waiting(request)
    token = _token(request)
    moves = await read_moves(request)
    async with play.request(request.path_params["session"], token) as session:
        rows = session.answer(moves)
        document: Document = {"moves": rows}
        conflict = next((row for row in rows if row["status"] == CONFLICT), None)
        if conflict is not None:
            hint = "Send the same move again, or none."
            document["error"] = {"status": 409, "message": conflict["message"], "hint": hint}
            return _json(document, 409)
        if wait is not None:
            document |= await _report(session, views, request, wait, after)
        return _json(document)


async def _leave(play: HttpPlay, views: Views, request: Request) -> Response:
    await play.leave(request.path_params["session"], _token(request))
    return Response(status_code=LEAVE.status, headers=_HEADERS)


async def _report(session: PlaySession, views: Views, request: Request, wait: float, after: int | None) -> Document:
    """Return the questions and events of the session, after a wait for some. Raises Failure, ClientDisconnect."""
    if after is not None and after > session.book.last:
        raise Failure(
            400,
            f"parameter after: got {after}, expected at most {session.book.last}",
            "Send `next` of the last answer.",
        )
    if wait and not session.book.has_news(after):
        is_gone = False

        async def notice_disconnection() -> None:
            nonlocal is_gone
            while (await request.receive())["type"] != "http.disconnect":
                pass
            is_gone = True
            waiting.cancel()

        async def wait_for_news() -> None:
            await session.wait(after, wait)
            noticing.cancel()

        async with asyncio.TaskGroup() as tasks:
            noticing = tasks.create_task(notice_disconnection())
            waiting = tasks.create_task(wait_for_news())
        if is_gone:
            raise ClientDisconnect
    return session.report(after, views.base(request))


def _token(request: Request) -> str:
    """Return the token of a request. Raises Failure."""
    header = request.headers.get("authorization", "")
    token = header[len(_SCHEME) :].strip()
    if not header.lower().startswith(_SCHEME):
        raise Failure(401, "This request has no token.", "Send the header `Authorization: Bearer TOKEN`.")
    if not could_be_token(token):
        raise Failure(401, "This is not a token.", "It begins with nou_; the operator of the server creates it.")
    return token


def _waiting(request: Request) -> tuple[float | None, int | None]:
    """Return the parameters `wait` and `after`; None if they are missing. Raises Failure."""
    for name in request.query_params:
        if name not in ("wait", "after"):
            raise Failure(400, f"parameter {name[:100]!r}: unknown", "Known: after, wait.")
    wait_text, after_text = request.query_params.get("wait"), request.query_params.get("after")
    wait: float | None = None
    after: int | None = None
    if wait_text is not None:
        try:
            wait = float(wait_text)
        except ValueError:
            wait = -1.0
        if not 0 <= wait <= LONGEST_WAIT_SECONDS:
            expected = f"seconds from 0 to {LONGEST_WAIT_SECONDS:g}"
            raise Failure(400, f"parameter wait: got {wait_text[:100]!r}, expected {expected}")
    if after_text is not None:
        if not (after_text.isascii() and after_text.isdigit() and len(after_text) <= _MOST_DIGITS):
            raise Failure(400, f"parameter after: got {after_text[:100]!r}, expected a whole number")
        after = int(after_text)
    return wait, after


def _json(document: Document, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json_bytes(document), status, {**_HEADERS, **(headers or {})}, media_type=JSON)
