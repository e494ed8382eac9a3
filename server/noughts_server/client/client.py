"""A client of a server for the command line: its calls block."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Protocol, TypeVar

import grpc

from noughts_bots.connection.stream import Login
from noughts_proto.feed_view import View
from noughts_proto.security import Dialling
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import feed_pb2
from noughts_server.client.failures import DEADLINE_SECONDS, NO_HINTS, TEMPORARY_CODES, CallFailed, explain_call
from noughts_server.client.stubs import Stubs

LARGEST_PAGE = 1_000
# Seconds between two attempts to reconnect.
_FIRST_WAIT = 0.2
_LONGEST_WAIT = 5.0


class _PagedResponse(Protocol):
    @property
    def next_page_token(self) -> str: ...


Request = TypeVar("Request")
Response = TypeVar("Response")
Paged = TypeVar("Paged", bound=_PagedResponse)
Item = TypeVar("Item")


class Client(Stubs):
    """The services of one server, called with one token, which can be empty."""

    def __init__(
        self,
        channel: grpc.Channel,
        address: str,
        token: str,
        dialling: Dialling,
        hints: Mapping[grpc.StatusCode, str] = NO_HINTS,
    ) -> None:
        """`hints` is advice for errors that the server has no hint for, by status."""
        super().__init__(channel)
        self.address = address
        self.token = token
        self._dialling = dialling
        self._hints = hints
        self._metadata = ((TOKEN_KEY, f"Bearer {token}"),) if token else ()

    def call(
        self,
        method: "grpc.UnaryUnaryMultiCallable[Request, Response] | grpc.StreamUnaryMultiCallable[Any, Response]",
        request: Request,
        *,
        seconds: float = DEADLINE_SECONDS,
    ) -> Response:
        """Return the method's answer; `request` is an iterator if the method takes a stream. Raises CallFailed."""
        try:
            return method(request, timeout=seconds, metadata=self._metadata)  # type: ignore[arg-type]  # as the method wants
        except grpc.RpcError as error:
            raise self._explained(error, seconds) from error

    async def call_async(
        self, method: "grpc.UnaryUnaryMultiCallable[Request, Response]", request: Request, *, seconds: float
    ) -> Response:
        """Return the method's answer without blocking the event loop. A cancellation ends the call.

        Raises CallFailed.
        """
        loop = asyncio.get_running_loop()
        is_over = asyncio.Event()

        def wake(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(is_over.set)

        call = method.future(request, timeout=seconds, metadata=self._metadata)
        call.add_done_callback(wake)
        try:
            await is_over.wait()
            return call.result()
        except grpc.RpcError as error:
            raise self._explained(error, seconds) from error
        finally:
            call.cancel()

    def list_items(
        self,
        method: "grpc.UnaryUnaryMultiCallable[Any, Paged]",
        request: Any,
        items: Callable[[Paged], Iterable[Item]],
        limit: int | None = None,
    ) -> Iterator[Item]:
        """Yield the first `limit` items of a list (None: all), with one page at a time in memory."""
        count = 0
        while limit is None or count < limit:
            most = LARGEST_PAGE if limit is None else min(limit - count, LARGEST_PAGE)
            request.page_size = most
            page = self.call(method, request)
            for item in islice(items(page), most):
                yield item
                count += 1
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def login(self, name: str) -> Login:
        """Return the login of a bot with this token and name at the same server."""
        return Login(self.address, self.token, name=name, dialling=self._dialling)

    def follow(
        self, name: str, on_message: Callable[[feed_pb2.WatchResponse, View], None], on_loss: Callable[[str], None]
    ) -> None:
        """Follow a game or tournament until it is over.

        Call `on_message` with each event and the view before it. If the connection is lost, call `on_loss` with the
        reason and reconnect. Raises CallFailed if the server refuses the call, or if no snapshot has arrived yet.
        """
        view = View()
        request = feed_pb2.WatchRequest(name=name)
        wait = _FIRST_WAIT
        while True:
            try:
                for response in self.feed.Watch(request, metadata=self._metadata):
                    wait = _FIRST_WAIT
                    on_message(response, view)
                    continue_after(request, response)
                return
            except grpc.RpcError as error:
                failed = self._explained(error)
                if failed.code not in TEMPORARY_CODES or not view.has_snapshot:
                    raise failed from error
                on_loss(failed.message)
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _explained(self, error: grpc.RpcError, seconds: float = DEADLINE_SECONDS) -> CallFailed:
        return explain_call(error, self.address, self._hints, has_token=bool(self.token), seconds=seconds)


def continue_after(request: feed_pb2.WatchRequest, response: feed_pb2.WatchResponse) -> None:
    """Set the request so that it continues after this response."""
    request.epoch, request.from_sequence = response.epoch, response.sequence
    if response.HasField("resync"):
        # The feed cannot be resumed from here without its snapshot.
        request.epoch = request.from_sequence = 0


@contextmanager
def connected(
    address: str, token: str, dialling: Dialling, hints: Mapping[grpc.StatusCode, str] = NO_HINTS
) -> Iterator[Client]:
    with dialling.channel(address) as channel:
        yield Client(channel, address, token, dialling, hints)
