"""Who visits the site: connections within bounds, and the address of whoever sent a request."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from noughts_proto.callers import caller_network

_PROXY_HEADER = "x-real-ip"
_LONGEST_ADDRESS = 45
_MOST_ADDRESSES, _MOST_MOMENTS = 10_000, 1_000
_CLOSE = b"connection: close\r\ncontent-length: 0\r\n\r\n"
_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\n" + _CLOSE
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _CLOSE


@dataclass(frozen=True, slots=True)
class SiteLimits:
    """Bounds of connections. Times in seconds."""

    connections: int = 12_000
    """Of the whole site; one more is closed at once."""
    address_connections: int = 256
    """From one address, reverse proxies aside."""
    head_bytes: int = 32 << 10
    """Of a request, but for its body."""
    head_seconds: float = 10.0
    body_seconds: float = 10.0
    body_bytes_a_second: int = 100_000
    """A longer body may take so much longer, but never longer than `longest_seconds`."""
    longest_seconds: float = 120.0


class Connections:
    """All connections of a site. Makes the protocol of each, as uvicorn wants it."""

    def __init__(self, limits: SiteLimits, proxies: Collection[str]) -> None:
        self.limits = limits
        self.proxies = frozenset(proxies)
        self.of: Counter[str] = Counter()
        """How many there are of each address."""

    def __call__(self, *arguments: Any, **named: Any) -> "_Connection":
        """A protocol for the next connection."""
        return _Connection(self, *arguments, **named)

    def has_room(self, address: str) -> bool:
        """Whether those from there, the newest included, are not too many."""
        crowded = self.of[address] > self.limits.address_connections and address not in self.proxies
        return not crowded and self.of.total() <= self.limits.connections


class _Connection(HttpToolsProtocol):
    """A connection that sends each request within a time and a size, or is closed."""

    def __init__(self, connections: Connections, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._connections = connections
        self._address = ""
        self._arriving = False
        """Whether a part of a request is still to come."""
        self._beside_body = 0
        """Bytes of the request so far, but for its body."""
        self._newest = 0
        """Bytes of what arrived last."""
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._address = caller_network(self.client[0]) if self.client else ""
        self._connections.of[self._address] += 1
        if not self._connections.has_room(self._address):
            transport.abort()
        self._wait(self._connections.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        self._connections.of[self._address] -= 1
        if not self._connections.of[self._address]:
            del self._connections.of[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._newest = len(data)
        self._beside_body += self._newest
        super().data_received(data)
        if self._arriving and self._beside_body > self._connections.limits.head_bytes:
            self._give_up(_TOO_LARGE)
        elif self._arriving and self._deadline is None:
            self._wait(self._connections.limits.head_seconds)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._arriving, self._beside_body = True, self._newest

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        limits = self._connections.limits
        length = Headers(raw=self.headers).get("content-length", "")
        more = int(length) / limits.body_bytes_a_second if length.isdecimal() else 0.0
        self._wait(min(limits.body_seconds + more, limits.longest_seconds))

    def on_body(self, body: bytes) -> None:
        self._beside_body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._arriving = False
        self._wait(None)

    def _wait(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._give_up, _TIMEOUT)

    def _give_up(self, answer: bytes) -> None:
        cycle: object = self.cycle  # None before the first request, which uvicorn's types leave out
        if cycle is None or self.cycle.response_complete:
            self.transport.write(answer)
        self.transport.close()


class VisitorAddresses:
    """Replaces the address of a reverse proxy by that of whoever called it (`scope["client"]`)."""

    def __init__(self, app: ASGIApp, proxies: Collection[str]) -> None:
        self._app = app
        self._proxies = frozenset(proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client is not None and client[0] in self._proxies:
            told = Headers(scope=scope).get(_PROXY_HEADER, "").strip()
            if told and len(told) <= _LONGEST_ADDRESS:
                scope["client"] = (told, 0)
        await self._app(scope, receive, send)


def address_of(scope: Scope) -> str:
    """The address of the visitor, or its IPv6 network; empty where it is unknown."""
    client = scope.get("client")
    return caller_network(client[0]) if client else ""


class Recent:
    """Counts what each address has done lately."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._moments: dict[str, deque[float]] = {}

    def count(self, address: str) -> int:
        """How often it was added within the last seconds."""
        moments = self._moments.get(address, deque())
        while moments and moments[0] <= self._clock() - self._seconds:
            moments.popleft()
        return len(moments)

    def add(self, address: str) -> None:
        """Once more."""
        if len(self._moments) >= _MOST_ADDRESSES:
            self._moments.pop(next(iter(self._moments)))
        self._moments.setdefault(address, deque(maxlen=_MOST_MOMENTS)).append(self._clock())
