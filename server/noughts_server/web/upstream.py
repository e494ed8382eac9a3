"""The server behind the site: one channel, its services, and what its errors mean to a browser."""

import asyncio
from typing import TYPE_CHECKING, TypeVar, cast

import grpc
import grpc.aio

from noughts_bots.stream import Login
from noughts_proto.error_details import error_info
from noughts_proto.security import Dialling, SecurityProblem, failed_handshake
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.unreachable import why_unreachable
from noughts_proto.v1 import (
    bots_pb2_grpc,
    challenges_pb2_grpc,
    feed_pb2_grpc,
    games_pb2_grpc,
    leaderboards_pb2_grpc,
    status_pb2_grpc,
    tokens_pb2_grpc,
    tournaments_pb2_grpc,
)

if TYPE_CHECKING:
    from noughts_proto.v1.bots_pb2_grpc import BotServiceAsyncStub
    from noughts_proto.v1.challenges_pb2_grpc import ChallengeServiceAsyncStub
    from noughts_proto.v1.feed_pb2_grpc import FeedServiceAsyncStub
    from noughts_proto.v1.games_pb2_grpc import GameServiceAsyncStub
    from noughts_proto.v1.leaderboards_pb2_grpc import LeaderboardServiceAsyncStub
    from noughts_proto.v1.status_pb2_grpc import StatusServiceAsyncStub
    from noughts_proto.v1.tokens_pb2_grpc import TokenServiceAsyncStub
    from noughts_proto.v1.tournaments_pb2_grpc import TournamentServiceAsyncStub

DEADLINE_SECONDS = 10.0
_AT_ONCE = 32
"""Calls under way; more wait here. A server answers only so many of one address (`limits.address_strangers`)."""

Request = TypeVar("Request")
Response = TypeVar("Response")

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
"""HTTP's word for gRPC's; 502 for all others."""


class Failure(Exception):
    """What a browser is told instead of what it asked for."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        """Of HTTP."""
        self.message = message
        self.hint = hint
        """What to do next; empty where nothing fits."""


class Upstream:
    """The server's services. Inside a running event loop."""

    def __init__(self, address: str, dialling: Dialling) -> None:
        self.address = address
        self._dialling = dialling
        self._channels = dialling.async_channels(address)
        # A connection has room for so many calls: those of the feed, which last, must not take that of pages.
        self._feed_channels = dialling.async_channels(address, apart=True)
        channel = cast(grpc.aio.Channel, self._channels)
        self._room = asyncio.Semaphore(_AT_ONCE)
        self.bots: BotServiceAsyncStub = bots_pb2_grpc.BotServiceStub(channel)
        self.challenges: ChallengeServiceAsyncStub = challenges_pb2_grpc.ChallengeServiceStub(channel)
        self.feed: FeedServiceAsyncStub = feed_pb2_grpc.FeedServiceStub(cast(grpc.aio.Channel, self._feed_channels))
        self.games: GameServiceAsyncStub = games_pb2_grpc.GameServiceStub(channel)
        self.leaderboards: LeaderboardServiceAsyncStub = leaderboards_pb2_grpc.LeaderboardServiceStub(channel)
        self.status: StatusServiceAsyncStub = status_pb2_grpc.StatusServiceStub(channel)
        self.tokens: TokenServiceAsyncStub = tokens_pb2_grpc.TokenServiceStub(channel)
        self.tournaments: TournamentServiceAsyncStub = tournaments_pb2_grpc.TournamentServiceStub(channel)

    async def call(
        self,
        method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        token: str = "",
        *,
        seconds: float | None = None,
    ) -> Response:
        """The method's answer, within DEADLINE_SECONDS or so many, to whoever bears the token. Raises Failure."""
        try:
            self._dialling.check(self.address, token)
        except SecurityProblem as problem:
            raise Failure(501, str(problem), problem.advice) from problem
        metadata = ((TOKEN_KEY, f"Bearer {token}"),) if token else ()
        try:
            async with self._room:
                await self.connect()
                return await method(request, timeout=seconds or DEADLINE_SECONDS, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise self.failure(error) from error
        except grpc.aio.UsageError as error:  # its connections are closed
            raise Failure(503, "This website is stopping.", "Try again in a moment.") from error

    async def connect(self) -> None:
        """Chooses the server of the next call, if there are several addresses."""
        await asyncio.gather(self._channels.connect(), self._feed_channels.connect())

    def login(self, token: str, name: str, version: str) -> Login:
        """How a bot of the site's dials the same server."""
        return Login(self.address, token, name, version, self._dialling)

    def failure(self, error: grpc.aio.AioRpcError) -> Failure:
        """A failed call in words: the server's own where it gave some."""
        code, details = error.code(), error.details() or error.code().name
        status = _STATUSES.get(code, 502)
        info = error_info(error)
        if info is not None:
            return Failure(status, details, info.metadata.get("hint", ""))
        if problem := failed_handshake(self.address, details):
            return Failure(503, str(problem), problem.advice)
        if code is grpc.StatusCode.UNAVAILABLE:
            reason = why_unreachable(details)
            return Failure(503, f"The server at {self.address} cannot be reached: {reason}.", AWAY_HINT)
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return Failure(504, f"The server did not answer within {DEADLINE_SECONDS:.0f} s.", "Try again in a moment.")
        if code is grpc.StatusCode.UNIMPLEMENTED:
            return Failure(501, "The server does not know this call.", "It is of another version than this site.")
        return Failure(status, f"The server says: {details} ({code.name})")

    async def close(self) -> None:
        """Ends all calls."""
        await asyncio.gather(self._channels.close(), self._feed_channels.close())


AWAY_HINT = "Games that were running go on when it is back, and so does this page."
