"""A client whose calls are awaited."""

import asyncio
from collections.abc import Mapping
from typing import TypeVar, cast

import grpc
import grpc.aio

from noughts_bots.stream import Login
from noughts_proto.security import Dialling, SecurityProblem
from noughts_proto.transport import TOKEN_KEY
from noughts_server.client.failures import DEADLINE_SECONDS, NO_HINTS, CallFailed, explain_call
from noughts_server.client.stubs import AsyncStubs

_AT_ONCE = 32
"""Limit of concurrent calls; more wait. The server has its own limit per address (`limits.address_strangers`)."""

Request = TypeVar("Request")
Response = TypeVar("Response")


class AsyncClient(AsyncStubs):
    """The services of one server. Must be made inside a running event loop."""

    def __init__(self, address: str, dialling: Dialling, hints: Mapping[grpc.StatusCode, str] = NO_HINTS) -> None:
        """`hints` say what to do about errors that the server has no hint for."""
        self.address = address
        self._dialling = dialling
        self._hints = hints
        self._channels = dialling.async_channels(address)
        # A connection has a limit of concurrent calls. The long calls of the feed must not use up that of the others.
        self._feed_channels = dialling.async_channels(address, apart=True)
        super().__init__(cast(grpc.aio.Channel, self._channels), cast(grpc.aio.Channel, self._feed_channels))
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._long_room = asyncio.Semaphore(_AT_ONCE)
        """For calls with their own deadline: uploads that wait for their trials must not block other calls."""

    async def call(
        self,
        method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        token: str = "",
        *,
        seconds: float | None = None,
    ) -> Response:
        """Return the method's answer, called with this token. Raises CallFailed."""
        try:
            self._dialling.check(self.address, token)
        except SecurityProblem as problem:
            raise CallFailed(grpc.StatusCode.UNIMPLEMENTED, str(problem), problem.advice) from problem
        metadata = ((TOKEN_KEY, f"Bearer {token}"),) if token else ()
        try:
            async with self._room if seconds is None else self._long_room:
                await self.connect()
                return await method(request, timeout=seconds or DEADLINE_SECONDS, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise self.explain(error, seconds or DEADLINE_SECONDS) from error
        except grpc.aio.UsageError as error:  # the client's channels are closed
            raise CallFailed(grpc.StatusCode.UNAVAILABLE, "the client is closed", "Try again in a moment.") from error

    def explain(self, error: grpc.aio.AioRpcError, seconds: float = DEADLINE_SECONDS) -> CallFailed:
        """Return what the error of a call with this deadline means."""
        return explain_call(error, self.address, self._hints, seconds=seconds)

    async def connect(self) -> None:
        """Choose the server of the next call, if there are several addresses."""
        await asyncio.gather(self._channels.connect(), self._feed_channels.connect())

    def login(self, token: str, name: str, version: str) -> Login:
        """Return what a bot needs to log in at the same server."""
        return Login(self.address, token, name, version, self._dialling)

    async def close(self) -> None:
        """End all calls."""
        await asyncio.gather(self._channels.close(), self._feed_channels.close())
