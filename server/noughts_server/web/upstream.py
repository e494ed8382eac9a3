"""The server behind the website, and the HTTP errors that stand for errors of its calls."""

import asyncio
import time
from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TypeVar, cast

import grpc
import grpc.aio
from google.protobuf.message import Message

from noughts_proto.security import Dialling, SecurityProblem
from noughts_proto.transport import GUEST_KEY, SITE_KEY, TOKEN_KEY, VERSION_KEY
from noughts_proto.v1 import leaderboards_pb2, registration_pb2
from noughts_server.client.failures import DEADLINE_SECONDS, explain_call
from noughts_server.client.stubs import AsyncStubs
from noughts_server.core.turns import Turns
from noughts_server.core.version import software_version
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
_AT_ONCE = 16
"""Limit of visitors' requests that call the server or hold its responses. More wait, and visitors take turns.

The server has its own limit for each address (`limits.address_strangers`)."""
_UNNAMED_AT_ONCE = 2
"""The limit for calls without a token, whose visitors the server cannot distinguish.

The server answers them in the order of their arrival, so visitors can take turns only here."""
_CALLS_OF_A_REQUEST = 2
"""Concurrent calls of one request, so that all requests together stay below the server's limit."""
_COMPUTED = leaderboards_pb2.GetBatchRatingsRequest
_COMPUTED_AT_ONCE = 8
"""The limit for calls that need a long computation of the server, for which other calls must not wait."""
_LONG_AT_ONCE = 32
"""The limit for calls with a deadline of their own: uploads that wait for their trials must not block other calls."""

Request = TypeVar("Request")
Response = TypeVar("Response")
Answer = TypeVar("Answer", bound=Message)


class Failure(Exception):
    """An error for the browser instead of a response."""

    def __init__(
        self,
        status: int,
        message: str,
        hint: str = "",
        *,
        field: str = "",
        expected: str = "",
        agent_hint: str = "",
        subject: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        """Advice for the user; empty if there is none."""
        self.field = field
        """The wrong field of a request or form; empty if the failure is about no single one."""
        self.expected = expected
        """The correct form of that field; empty if the message says it."""
        self.others: tuple[Failure, ...] = ()
        """The failures of other fields of the same form."""
        self.agent_hint = agent_hint
        """Advice for an agent, which has tools in place of commands; empty if `hint` names no command."""
        self.subject = subject
        """The resource that the message names, e.g. `tournaments/spring`; empty if it names none."""


class Upstream(AsyncStubs):
    """The server's services, whose errors are Failures. Create it inside a running event loop."""

    def __init__(
        self,
        address: str,
        dialling: Dialling,
        hints: Mapping[grpc.StatusCode, str] = MappingProxyType(_HINTS),
        site_token: str = "",
    ) -> None:
        """`hints` are for errors for which the server has no hint.

        `site_token` is the website's own token. The server counts calls with it apart from unauthenticated calls.
        """
        self.address = address
        self.dialling = dialling
        self._hints = hints
        self.site_metadata: tuple[tuple[str, str], ...] = (
            ((SITE_KEY, site_token), (VERSION_KEY, software_version())) if site_token else ()
        )
        """The metadata that each call sends."""
        self._channels = dialling.async_channels(address)
        # A connection has a limit on concurrent calls, so the long calls of the feed have a connection of their own.
        self._feed_channels = dialling.async_channels(address, apart=True)
        super().__init__(cast(grpc.aio.Channel, self._channels), cast(grpc.aio.Channel, self._feed_channels))
        self._turns = Turns(_AT_ONCE)
        self._unnamed_turns = Turns(_UNNAMED_AT_ONCE)
        self._computed_turns = Turns(_COMPUTED_AT_ONCE)
        self._long_calls = asyncio.Semaphore(_LONG_AT_ONCE)

    async def ask(
        self, method: "grpc.aio.UnaryUnaryMultiCallable[Request, Answer]", request: Request, token: str = ""
    ) -> Document:
        """Return the method's answer as a document, called with this token. Raises Failure."""
        answer = await self.call(method, request, token)
        return document(answer)

    async def register(self, request: registration_pb2.RegisterRequest) -> Document:
        """Register a newcomer. Raises Failure, also if others could read the invitation or the new token."""
        self._check_dialling(request.invitation or "the new token")
        return await self.ask(self.registration.Register, request)

    def _check_dialling(self, secret: str) -> None:
        """Raise Failure if this secret would leave the machine in plaintext."""
        try:
            self.dialling.check(self.address, secret)
        except SecurityProblem as problem:
            raise Failure(501, str(problem), problem.advice) from problem

    async def call(
        self,
        method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        token: str = "",
        *,
        seconds: float | None = None,
    ) -> Response:
        """Return the method's answer, called with this token. Raises Failure."""
        self._check_dialling(token)
        metadata = self.metadata_for(GUEST.get(""))
        if token:
            metadata = (*metadata, (TOKEN_KEY, f"Bearer {token}"))
        try:
            if seconds is not None:
                async with self._long_calls:
                    await self.connect()
                    return await method(request, timeout=seconds, metadata=metadata)
            async with self._turn(request, token) as place, place.calls:
                await self.connect()
                return await method(request, timeout=DEADLINE_SECONDS, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise self.failure(error, seconds or DEADLINE_SECONDS) from error
        except grpc.aio.UsageError as error:  # the channels are closed
            raise Failure(503, "the client is closed", "Try again in a moment.") from error

    def metadata_for(self, guest: str) -> tuple[tuple[str, str], ...]:
        """Return the metadata of a call for a visitor at this address, without a token."""
        return (*self.site_metadata, (GUEST_KEY, guest)) if self.site_metadata and guest else self.site_metadata

    @asynccontextmanager
    async def one_place(self, *work: Hashable) -> AsyncIterator[None]:
        """Let all calls inside the block share one place, and keep it until the end of the block.

        This limits the memory for responses that are not rendered yet: one can have megabytes. `work` are names of what
        the block does; see `Turns.take`.
        """
        place = _Place(self._turns if self.site_metadata else self._unnamed_turns, work)
        token = _PLACE.set(place)
        try:
            yield
        finally:
            _PLACE.reset(token)
            place.leave()

    @asynccontextmanager
    async def _turn(self, request: object, token: str) -> "AsyncIterator[_Place]":
        """Wait for the visitor's turn, and yield its place. It ends with the block, or with that of `one_place`."""
        turns = self._turns if token or self.site_metadata else self._unnamed_turns
        if isinstance(request, _COMPUTED):
            turns = self._computed_turns
        place = _PLACE.get(None)
        if place is not None and place.turns is turns and not place.is_over():
            await place.take()
            yield place
            return
        place = _Place(turns, (type(request).__name__,))
        try:
            await place.take()
            yield place
        finally:
            place.leave()

    def failure(self, error: grpc.aio.AioRpcError, seconds: float = DEADLINE_SECONDS) -> Failure:
        """Return the failure for an error of a call with this deadline, in seconds."""
        call_failed = explain_call(error, self.address, self._hints, seconds=seconds)
        return Failure(
            _STATUSES.get(call_failed.code, 502),
            call_failed.message,
            call_failed.hint,
            field=call_failed.field,
            expected=call_failed.expected,
            agent_hint=call_failed.agent_hint,
            subject=call_failed.subject,
        )

    async def connect(self) -> None:
        """Choose the server of the next call, if there are several addresses."""
        await asyncio.gather(self._channels.connect(), self._feed_channels.connect())

    async def close(self) -> None:
        """End all calls."""
        await asyncio.gather(self._channels.close(), self._feed_channels.close())


class _Place:
    """A place for all calls of a visitor's request."""

    def __init__(self, turns: Turns, work: tuple[Hashable, ...]) -> None:
        self.calls = asyncio.Semaphore(_CALLS_OF_A_REQUEST)
        self.turns = turns
        self._work = work
        self._visitor = GUEST.get("")
        self._taking = asyncio.Lock()
        self._is_taken = False
        self._is_over = False
        self._start = 0.0

    def is_over(self) -> bool:
        """Return whether the request has been answered. Calls that it makes later in a task need another place."""
        return self._is_over

    async def take(self) -> None:
        """Wait for the visitor's turn, unless an earlier call has taken the place."""
        async with self._taking:
            if self._is_taken or self.is_over():
                return
            await self.turns.take(self._visitor, self._work)
            if self.is_over():
                self.turns.give_back()
            else:
                self._is_taken = True
                self._start = time.monotonic()

    def leave(self) -> None:
        """Give the place back, and charge the visitor for the time of its use."""
        self._is_over = True
        if self._is_taken:
            self.turns.charge(self._visitor, time.monotonic() - self._start, self._work)
            self.turns.give_back()


_PLACE: ContextVar[_Place] = ContextVar("place")
"""The place of the request that this task answers, in the block of `Upstream.one_place`."""
