"""The bodies of HTTP requests. Every client can send a small one; a long one needs a token that can submit bots."""

import re
from collections import Counter
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noughts_proto.v1 import tokens_pb2
from noughts_server.agents.tool_calls import Backend
from noughts_server.store.people.scopes import SUBMIT, permits
from noughts_server.web.upstream import Failure
from noughts_server.web.visitors import add

SMALL_BODY = 64 << 10
"""Bytes of a body for which the caller needs no token. They are parsed in the event loop, in a few milliseconds."""
LONGEST_BODY = 4 << 20
OWNER_LONG_BODIES = 2
"""Requests of one owner with longer bodies that are in memory."""
_VALUE_BYTES = 32
"""The bytes that each text counts in place of its length, because even an empty text takes memory."""
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_STREAM = PlainTextResponse("This server sends no events of its own. Send POST requests.\n", 405, {"allow": "POST"})


class CompleteBodies:
    """Passes on only requests with a complete body within the limits.

    It refuses GET requests: they open a stream of events, which would stay open without an event. It reads bodies
    before the SDK does, because the SDK logs a traceback for each body that ends early.
    """

    def __init__(self, app: ASGIApp, backend: Backend) -> None:
        self._app = app
        self._backend = backend
        self._long_bodies: Counter[str] = Counter()
        """The number of running requests with long bodies, by owner."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in ("GET", "HEAD"):
            await _NO_STREAM(scope, receive, send)
            return
        body = bytearray()
        is_incomplete = await _read(receive, body, SMALL_BODY)
        if is_incomplete is None:
            return
        if len(body) <= SMALL_BODY:
            await self._pass_on(bytes(body), scope, receive, send)
            return
        try:
            owner = await self._submitter(Headers(scope=scope))
            if self._long_bodies[owner] >= OWNER_LONG_BODIES:
                raise Failure(429, f"{OWNER_LONG_BODIES} of your requests with long bodies are running")
            add(self._long_bodies, owner, 1)
            try:
                if is_incomplete and await _read(receive, body, LONGEST_BODY) is None:
                    return
                _check_long(body)
                await self._pass_on(bytes(body), scope, receive, send)
            finally:
                add(self._long_bodies, owner, -1)
        except Failure as failure:
            hint = f" {failure.hint}" if failure.hint else ""
            await PlainTextResponse(f"{failure.message}.{hint}\n", failure.status)(scope, receive, send)

    async def _pass_on(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application with the complete body as one message."""
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_complete() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, receive_complete, send)

    async def _submitter(self, headers: Headers) -> str:
        """Return the owner of a request's token, which must have the scope `submit`. Raises Failure."""
        upstream, token = self._backend.upstream, self._backend.token_in(headers)
        reason = f"a body of more than {SMALL_BODY:,} bytes needs a token with the scope `{SUBMIT}`"
        if not token:
            raise Failure(413, reason, "Send it in the header `Authorization: Bearer TOKEN`.")
        request = tokens_pb2.GetTokenRequest(name="tokens/self")
        answer: Any = await upstream.ask(upstream.tokens.GetToken, request, token)
        if not permits(answer["token"]["scopes"], SUBMIT):
            raise Failure(413, reason)
        return str(answer["token"]["owner"])


async def _read(receive: Receive, body: bytearray, most: int) -> bool | None:
    """Read a body until it is complete or has more than `most` bytes.

    Return whether the body is still incomplete; None if the client has disconnected.
    """
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return False
        if len(body) > most:
            return True


def _check_long(body: bytearray) -> None:
    """Raise Failure unless a long body is within the limits: it can have long texts, but not very many values."""
    if len(body) > LONGEST_BODY:
        raise Failure(413, f"the body has more than {LONGEST_BODY:,} bytes")
    counted = 0
    end = 0
    for text in _TEXT.finditer(body):
        counted += text.start() - end + _VALUE_BYTES
        end = text.end()
        if counted > SMALL_BODY:
            break
    if counted + len(body) - end > SMALL_BODY:
        raise Failure(413, f"the body has more than {SMALL_BODY:,} bytes besides its texts")
