"""Calls to a server: channel, token, deadline, pages, and what its errors mean."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import grpc

from noughts_proto.error_details import error_info
from noughts_proto.security import Dialling, failed_handshake, why_hung_up
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
from noughts_server.cli import connection_options
from noughts_server.cli.errors import Problem

DEADLINE_SECONDS = 10.0
LARGEST_PAGE = 1_000
_REFUSALS = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
}


class _PagedResponse(Protocol):
    @property
    def next_page_token(self) -> str: ...


Request = TypeVar("Request")
Response = TypeVar("Response")
Paged = TypeVar("Paged", bound=_PagedResponse)
Item = TypeVar("Item")


class CallFailed(Problem):
    """A call that failed: `code` is its gRPC status."""

    def __init__(self, problem: Problem, code: grpc.StatusCode) -> None:
        super().__init__(problem.message, problem.hint)
        self.code = code

    @property
    def refused(self) -> bool:
        """Whether the server answered and refused this request; another request can succeed."""
        return self.code in _REFUSALS


@dataclass(frozen=True, slots=True)
class Client:
    """The stubs of one server, and the caller's token."""

    address: str
    token: str
    tournaments: tournaments_pb2_grpc.TournamentServiceStub
    games: games_pb2_grpc.GameServiceStub
    bots: bots_pb2_grpc.BotServiceStub
    leaderboards: leaderboards_pb2_grpc.LeaderboardServiceStub
    tokens: tokens_pb2_grpc.TokenServiceStub
    challenges: challenges_pb2_grpc.ChallengeServiceStub
    status: status_pb2_grpc.StatusServiceStub
    feed: feed_pb2_grpc.FeedServiceStub

    def call(
        self,
        method: "grpc.UnaryUnaryMultiCallable[Request, Response] | grpc.StreamUnaryMultiCallable[Any, Response]",
        request: Request,
        *,
        seconds: float = DEADLINE_SECONDS,
    ) -> Response:
        """The method's answer; `request` is an iterator where it takes several.

        Raises CallFailed, and Problem where a token was needed and none was given.
        """
        metadata = ((TOKEN_KEY, f"Bearer {self.token}"),) if self.token else ()
        try:
            return method(request, timeout=seconds, metadata=metadata)  # type: ignore[arg-type]  # as the method wants
        except grpc.RpcError as error:
            if not self.token and _code(error) is grpc.StatusCode.UNAUTHENTICATED:
                missing = connection_options.no_token()
                raise Problem(missing.message, missing.hint) from error
            raise CallFailed(explain_call(error, self.address), _code(error)) from error

    def pages(
        self,
        method: "grpc.UnaryUnaryMultiCallable[Any, Paged]",
        request: Any,
        items: Callable[[Paged], Iterable[Item]],
        limit: int | None = None,
    ) -> list[Item]:
        """Return the first `limit` items of a list, from as many pages as that takes; None: all."""
        return list(self.each(method, request, items, limit))

    def each(
        self,
        method: "grpc.UnaryUnaryMultiCallable[Any, Paged]",
        request: Any,
        items: Callable[[Paged], Iterable[Item]],
        limit: int | None = None,
    ) -> Iterator[Item]:
        """Yield what `pages` returns, with one page at a time in memory."""
        left = LARGEST_PAGE if limit is None else limit
        while left:
            request.page_size = min(left, LARGEST_PAGE)
            page = self.call(method, request)
            for item in islice(items(page), left):
                yield item
                left -= limit is not None
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token


@contextmanager
def connected(
    server: str | None, token: str | None = None, token_file: Path | None = None, *, dialling: Dialling | None = None
) -> Iterator[Client]:
    """A client of the server that the options name; they also say how to connect, unless `dialling` does."""
    address, secret = connection_options.read_server(server), connection_options.read_token(token, token_file)
    with (dialling or connection_options.dialling(address, secret)).channel(address) as channel:
        yield Client(
            address,
            secret,
            tournaments_pb2_grpc.TournamentServiceStub(channel),
            games_pb2_grpc.GameServiceStub(channel),
            bots_pb2_grpc.BotServiceStub(channel),
            leaderboards_pb2_grpc.LeaderboardServiceStub(channel),
            tokens_pb2_grpc.TokenServiceStub(channel),
            challenges_pb2_grpc.ChallengeServiceStub(channel),
            status_pb2_grpc.StatusServiceStub(channel),
            feed_pb2_grpc.FeedServiceStub(channel),
        )


def explain_call(error: grpc.RpcError, address: str = "") -> Problem:
    """A failed call in words: the server's own where it gave some."""
    server = f"server {address}" if address else "the server"
    code, details = _code(error), _details(error)
    info = error_info(error)
    if info is not None:
        return Problem(details, info.metadata.get("hint", ""))
    if problem := failed_handshake(address, details):
        return Problem(str(problem), problem.advice)
    if code is grpc.StatusCode.UNAVAILABLE:
        hint = "Is it running (noughts serve)? Look at --server."
        if reason := why_hung_up(details):
            hint += f" {reason[0].upper()}{reason[1:]}."
        return Problem(f"{server} cannot be reached: {why_unreachable(details)}", hint)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Problem(f"{server} did not answer within {DEADLINE_SECONDS:.0f} s", "Try again, or look at its log.")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Problem(f"{server} does not know this call", "Is it a Noughts server of this version?")
    return Problem(f"{server}: {details} ({code.name})")


# The errors of a call are calls too, which their published types do not say.


def _code(error: Any) -> grpc.StatusCode:
    return error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.UNKNOWN


def _details(error: Any) -> str:
    return (error.details() if isinstance(error, grpc.Call) else "") or _code(error).name
