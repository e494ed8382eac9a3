"""The server behind the website, and what its errors mean to a browser."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TypeVar, cast

import grpc
import grpc.aio
from google.protobuf.message import Message

from noughts_proto.security import Dialling, SecurityProblem
from noughts_proto.transport import GUEST_KEY, SITE_KEY, TOKEN_KEY
from noughts_server.client.failures import DEADLINE_SECONDS, explain_call
from noughts_server.client.stubs import AsyncStubs
from noughts_server.core.turns import Turns
from noughts_server.web.documents import Document, document

AWAY_HINT = "Running games resume when it is back, and so does this page."
_HINTS = {
    grpc.StatusCode.UNAVAILABLE: AWAY_HINT,
    grpc.StatusCode.DEADLINE_EXCEEDED: "Try again in a moment.",
    grpc.StatusCode.UNIMPLEMENTED: "Its version differs from that of this website.",
}
_STATUSES = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.FAILED_PRECONDITION: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}
"""HTTP statuses by gRPC status; 502 for all others."""

GUEST: ContextVar[str] = ContextVar("guest")
"""The address of the visitor whose request this task answers. The server shares its time among visitors."""
_AT_ONCE = 32
"""Limit of concurrent calls; more wait, and visitors take turns.

The server has its own limit per address (`limits.address_strangers`)."""
_UNNAMED_AT_ONCE = 2
"""The same of calls for visitors that the server does not distinguish: it answers them in the order of their arrival.

So those of one visitor must wait here, not there, for others to take turns with them."""

Request = TypeVar("Request")
Response = TypeVar("Response")
Answer = TypeVar("Answer", bound=Message)


class Failure(Exception):
    """An error for the browser instead of a response."""

    def __init__(self, status: int, message: str, hint: str = "", *, field: str = "", expected: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        """Advice for the user; empty if there is none."""
        self.field = field
        """The wrong field of a request or form; empty if the failure is about no single one."""
        self.expected = expected
        """The correct form of that field; empty if the message says it."""


class Upstream(AsyncStubs):
    """The server's services, whose errors are Failures. Must be made inside a running event loop."""

    def __init__(
        self,
        address: str,
        dialling: Dialling,
        hints: Mapping[grpc.StatusCode, str] = MappingProxyType(_HINTS),
        site_token: str = "",
    ) -> None:
        """`hints` say what to do about errors that the server has no hint for.

        `site_token` is the website's own token, by which the server counts these calls apart from those of strangers.
        """
        self.address = address
        self.dialling = dialling
        self._hints = hints
        self.site_metadata: tuple[tuple[str, str], ...] = ((SITE_KEY, site_token),) if site_token else ()
        """Goes with each call."""
        self._channels = dialling.async_channels(address)
        # A connection has a limit on concurrent calls. The long calls of the feed must not use up that of the others.
        self._feed_channels = dialling.async_channels(address, apart=True)
        super().__init__(cast(grpc.aio.Channel, self._channels), cast(grpc.aio.Channel, self._feed_channels))
        self._turns = Turns(_AT_ONCE)
        self._unnamed_turns = Turns(_UNNAMED_AT_ONCE)
        self._long_room = asyncio.Semaphore(_AT_ONCE)
        """For calls with their own deadline: uploads that wait for their trials must not block other calls."""

    async def ask(
        self, method: "grpc.aio.UnaryUnaryMultiCallable[Request, Answer]", request: Request, token: str = ""
    ) -> Document:
        """Return the method's answer as a document, called with this token. Raises Failure."""
        answer = await self.call(method, request, token)
        return document(answer)

    async def call(
        self,
        method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        token: str = "",
        *,
        seconds: float | None = None,
    ) -> Response:
        """Return the method's answer, called with this token. Raises Failure."""
        try:
            self.dialling.check(self.address, token)
        except SecurityProblem as problem:
            raise Failure(501, str(problem), problem.advice) from problem
        metadata = (*self.site_metadata, (TOKEN_KEY, f"Bearer {token}")) if token else self.site_metadata
        if self.site_metadata and (guest := GUEST.get("")):
            metadata = (*metadata, (GUEST_KEY, guest))
        try:
            turns = self._turns if token or self.site_metadata else self._unnamed_turns
            async with _turn(turns) if seconds is None else self._long_room:
                await self.connect()
                return await method(request, timeout=seconds or DEADLINE_SECONDS, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise self.failure(error, seconds or DEADLINE_SECONDS) from error
        except grpc.aio.UsageError as error:  # the channels are closed
            raise Failure(503, "the client is closed", "Try again in a moment.") from error

    def failure(self, error: grpc.aio.AioRpcError, seconds: float = DEADLINE_SECONDS) -> Failure:
        """Return what the error of a call with this deadline means to a browser."""
        failed = explain_call(error, self.address, self._hints, seconds=seconds)
        status = _STATUSES.get(failed.code, 502)
        return Failure(status, failed.message, failed.hint, field=failed.field, expected=failed.expected)

    async def connect(self) -> None:
        """Choose the server of the next call, if there are several addresses."""
        await asyncio.gather(self._channels.connect(), self._feed_channels.connect())

    async def close(self) -> None:
        """End all calls."""
        await asyncio.gather(self._channels.close(), self._feed_channels.close())


@asynccontextmanager
async def _turn(turns: Turns) -> AsyncIterator[None]:
    """Wait for the visitor's turn, and keep a place inside the block. The turn costs the visitor its duration."""
    visitor = GUEST.get("")
    async with turns.turn(visitor):
        began = time.monotonic()
        try:
            yield
        finally:
            turns.charge(visitor, time.monotonic() - began)
