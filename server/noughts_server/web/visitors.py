"""Limits of visitors: connections, request heads, unread responses, and requests from one address."""

import asyncio
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from noughts_proto.callers import caller_network
from noughts_server.web.api_routes import PREFIX
from noughts_server.web.pace import Pace
from noughts_server.web.play_contract import PLAY
from noughts_server.web.upstream import GUEST

_PROXY_HEADER = "x-real-ip"
_LONGEST_ADDRESS = 45
"""Characters of an IPv6 address."""
_MOST_ADDRESSES = 10_000
_MOST_MOMENTS = 1_000
_RATE_SECONDS = 10.0
"""Seconds in which the requests of an address count."""
_STATIC_FILES = "/static/"
TRANSPORT = "noughts.transport"
"""The ASGI extension of each request. Its `transport` takes complete chunks of HTTP."""
_EVENTS, _FILE = "/events", "/games."
_PLAY_SESSIONS = f"{PREFIX}{PLAY}/"
"""The beginning of the addresses of sessions of bots, which limit their own requests."""
_BUSY = PlainTextResponse("Too many requests from one address. Try again in 5 seconds.\n", 429, {"retry-after": "5"})
_STOPPING = PlainTextResponse("This website is stopping. Try again in a moment.\n", 503)
_PLACE = r"(?:[\w.-]*|\[[0-9a-f:.]*\])(?::[0-9]{0,5})?"
"""A host and a port, without a user: `localhost:80@example.org` is at example.org."""
_HOST = re.compile(_PLACE, re.ASCII | re.IGNORECASE)
_ORIGIN = re.compile(rf"null|[a-z][a-z0-9+.-]*://{_PLACE}", re.ASCII | re.IGNORECASE)
_WRONG_PLACE = PlainTextResponse("The header Host or Origin is not a host with an optional port.\n", 400)
_CLOSE = b"connection: close\r\ncontent-length: 0\r\n\r\n"
_BAD = b"HTTP/1.1 400 Bad Request\r\n" + _CLOSE
_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\n" + _CLOSE
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _CLOSE


@dataclass(frozen=True, slots=True)
class SiteLimits:
    """Limits of visitors. Times in seconds."""

    connections: int = 12_000
    """Connections of the whole website; one more is closed at once."""
    address_connections: int = 256
    """Connections from one address, except those of reverse proxies."""
    head_bytes: int = 32 << 10
    """Size of a request without its body."""
    headers: int = 100
    """Headers of a request, trailers included: tiny ones take fifty times their size in memory."""
    pipelined: int = 8
    """Requests on a connection that wait for the response to an earlier one."""
    head_seconds: float = 10.0
    body_seconds: float = 10.0
    body_bytes_a_second: int = 100_000
    """A body can take one more second for this number of bytes, but never more than `longest_seconds`."""
    longest_seconds: float = 120.0
    unread_seconds: float = 30.0
    """Seconds for which a visitor can leave a response unread that does not fit into the buffers."""
    address_unread_bytes: int = 16 << 20
    """Bytes of unread responses for one address, except those of reverse proxies."""
    unread_bytes: int = 128 << 20
    """Bytes of unread responses for all addresses."""
    address_reads: int = 2
    """Concurrent reading requests (GET, HEAD) from one address, without live events; more wait."""
    address_downloads: int = 2
    """Concurrent downloads of all games of a tournament. A slow reader can make one last long."""
    address_writes: int = 32
    """Concurrent requests that change something; some wait for a bot's trial."""
    address_requests: int = 400
    """Requests from one address within ten seconds, without static files and those of bots that play over HTTP."""
    address_play_requests: int = 4_000
    """Requests of such bots from one address within ten seconds."""


class Connections:
    """All connections of the website; also the factory of their protocols for uvicorn."""

    def __init__(self, limits: SiteLimits, proxies: Collection[str]) -> None:
        self.limits = limits
        self.proxies = frozenset(proxies)
        self.by_address: Counter[str] = Counter()
        """The number of connections by address."""
        self.unread: Counter[str] = Counter()
        """Bytes of unread responses by address."""

    def __call__(self, *arguments: Any, **named: Any) -> "_Connection":
        return _Connection(self, *arguments, **named)

    def has_room(self, address: str) -> bool:
        """Return whether the connections from this address, including the newest, are within the limits."""
        is_over_limit = self.by_address[address] > self.limits.address_connections and address not in self.proxies
        return not is_over_limit and self.by_address.total() <= self.limits.connections

    def has_unread_room(self, address: str) -> bool:
        """Return whether the unread responses of the address are within the limits."""
        is_over_limit = self.unread[address] > self.limits.address_unread_bytes and address not in self.proxies
        return not is_over_limit and self.unread.total() <= self.limits.unread_bytes


class _LimitError(Exception):
    """A request exceeds a limit. The parser stops at once, and does not read the rest of the data."""


class _Connection(HttpToolsProtocol):
    """A connection that is closed unless it sends its requests and reads the responses within the limits."""

    def __init__(self, connections: Connections, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._connections = connections
        self._address = ""
        self._is_arriving = False
        """Whether part of a request is still missing."""
        self._head_bytes = 0
        """Bytes of the request so far, without the parsed part of its body."""
        self._last_bytes = 0
        """The number of bytes received last."""
        self._running_response: RequestResponseCycle | None = None
        self._header_count = 0
        self._unread = 0
        """Bytes of responses that did not fit into the buffers when the visitor stopped reading."""
        self._deadline: asyncio.TimerHandle | None = None
        self._reading_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._address = caller_network(self.client[0]) if self.client else ""
        add(self._connections.by_address, self._address, 1)
        if not self._connections.has_room(self._address):
            transport.abort()
        self._limit_request_seconds(self._connections.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit_request_seconds(None)
        self._stop_unread_timer()
        add(self._connections.by_address, self._address, -1)
        self._disconnect_response()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        add(self._connections.unread, self._address, self._unread)
        self._reading_deadline = self.loop.call_later(self._connections.limits.unread_seconds, self._abort)
        if not self._connections.has_unread_room(self._address):
            self._abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_unread_timer()

    def _stop_unread_timer(self) -> None:
        """Stop the unread timer: the visitor has read the response or disconnected."""
        if self._reading_deadline is not None:
            self._reading_deadline.cancel()
            self._reading_deadline = None
            add(self._connections.unread, self._address, -self._unread)

    def data_received(self, data: bytes) -> None:
        self._last_bytes = len(data)
        self._head_bytes += self._last_bytes
        super().data_received(data)
        if self._is_arriving and self._head_bytes > self._connections.limits.head_bytes:
            self._refuse(_TOO_LARGE)
        elif self._is_arriving and self._deadline is None:
            self._limit_request_seconds(self._connections.limits.head_seconds)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= self._connections.limits.pipelined:
            raise _LimitError
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: {"transport": self.transport}}
        self._is_arriving = True
        self._head_bytes = self._last_bytes
        self._header_count = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        if self._header_count > self._connections.limits.headers:
            raise _LimitError
        super().on_header(name, value)

    def send_400_response(self, msg: str) -> None:
        self._refuse(_TOO_LARGE if self._header_count > self._connections.limits.headers else _BAD)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        limits = self._connections.limits
        length = Headers(raw=self.headers).get("content-length", "")
        additional_seconds = int(length) / limits.body_bytes_a_second if length.isdecimal() else 0.0
        self._limit_request_seconds(min(limits.body_seconds + additional_seconds, limits.longest_seconds))

    def on_body(self, body: bytes) -> None:
        self._head_bytes -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_arriving = False
        self._limit_request_seconds(None)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running_response = cycle
        super()._start_asgi_task(cycle, app)

    def _disconnect_response(self) -> None:
        """Disconnect the running response; uvicorn itself does so only for the newest request."""
        if self._running_response is not None:
            self._running_response.disconnected = True
            self._running_response.message_event.set()

    def _abort(self) -> None:
        self._disconnect_response()
        self.transport.abort()

    def _limit_request_seconds(self, seconds: float | None) -> None:
        """Limit the time for the rest of the request; None: no limit."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._refuse, _TIMEOUT)

    def _refuse(self, answer: bytes) -> None:
        """Close the connection, after this response if no other one is running."""
        if self.transport.is_closing():
            return
        if self._running_response is None or self._running_response.response_complete:
            self.transport.write(answer)
        self._disconnect_response()
        self.transport.close()


class Visitors:
    """The application with limits for each address. It replaces the address of a reverse proxy with the visitor's."""

    def __init__(self, app: ASGIApp, proxies: Collection[str], limits: SiteLimits) -> None:
        self._app = app
        self._proxies = frozenset(proxies)
        self._limits = limits
        self._recent_requests = Recent(_RATE_SECONDS)
        self._places: dict[tuple[str, str], asyncio.Semaphore] = {}
        """Concurrent requests by address and kind of request, while there are any."""
        self._running_requests: Counter[tuple[str, str]] = Counter()
        self._play_paces: dict[str, Pace] = {}
        """The pace of requests of bots by address."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client is not None and client[0] in self._proxies:
            proxy_address = Headers(scope=scope).get(_PROXY_HEADER, "").strip()
            if proxy_address and len(proxy_address) <= _LONGEST_ADDRESS:
                scope["client"] = (proxy_address, 0)
        headers = Headers(scope=scope)
        if not all(map(_HOST.fullmatch, headers.getlist("host"))) or not all(
            map(_ORIGIN.fullmatch, headers.getlist("origin"))
        ):
            await _WRONG_PLACE(scope, receive, send)
            return
        address = address_of(scope)
        path = scope["path"]
        if path.startswith(_PLAY_SESSIONS):
            within_limit = self._count_play_request(address)
            await (self._app if within_limit else _BUSY)(scope, receive, send)
            return
        if not path.startswith(_STATIC_FILES):
            if self._recent_requests.count(address) >= self._limits.address_requests:
                await _BUSY(scope, receive, send)
                return
            self._recent_requests.add(address)
        if path.startswith(PREFIX) and path.endswith(_EVENTS):
            await self._app(scope, receive, send)
            return
        GUEST.set(address)
        kind, limit = self._limit_of(scope["method"], path)
        key = address, kind
        places = self._places.setdefault(key, asyncio.Semaphore(limit))
        self._running_requests[key] += 1
        try:
            if self._running_requests[key] > self._limits.address_connections:
                await _BUSY(scope, receive, send)
                return
            has_begun = False

            async def answer(message: Message) -> None:
                nonlocal has_begun
                has_begun = True
                await send(message)

            try:
                async with places:
                    await self._app(scope, receive, answer)
            except asyncio.CancelledError:  # the website stops
                if not has_begun:
                    await _STOPPING(scope, receive, send)
        finally:
            self._running_requests[key] -= 1
            if not self._running_requests[key]:
                del self._running_requests[key], self._places[key]

    def _count_play_request(self, address: str) -> bool:
        """Count a request of a bot at this address. Return False, and do not count it, if there are too many."""
        if len(self._play_paces) >= _MOST_ADDRESSES and address not in self._play_paces:
            self._play_paces.pop(next(iter(self._play_paces)))
        most = self._limits.address_play_requests
        pace = self._play_paces.setdefault(address, Pace(most / _RATE_SECONDS, most, time.monotonic))
        if pace.take() <= 0:
            return True
        pace.refund()
        return False

    def _limit_of(self, method: str, path: str) -> tuple[str, int]:
        """Return the kind of a request, and the limit on concurrent requests of this kind from an address."""
        if method not in ("GET", "HEAD"):
            return "writes", self._limits.address_writes
        if _FILE in path:
            return "downloads", self._limits.address_downloads
        return "reads", self._limits.address_reads


def add(counts: Counter[str], address: str, number: int) -> None:
    """Add a number, which can be negative, to the count of an address. Remove an address whose count is 0."""
    counts[address] += number
    if not counts[address]:
        del counts[address]


def address_of(scope: Scope) -> str:
    """Return the address of the visitor, or its IPv6 network; empty if it is unknown."""
    client = scope.get("client")
    return caller_network(client[0]) if client else ""


class Recent:
    """Counts the recent actions of each address."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._moments: dict[str, deque[float]] = {}

    def count(self, address: str) -> int:
        """Return the number of recent actions of the address."""
        moments = self._moments.get(address, deque())
        while moments and moments[0] <= self._clock() - self._seconds:
            moments.popleft()
        return len(moments)

    def add(self, address: str) -> None:
        """Record an action of the address."""
        if len(self._moments) >= _MOST_ADDRESSES:
            self._moments.pop(next(iter(self._moments)))
        self._moments.setdefault(address, deque(maxlen=_MOST_MOMENTS)).append(self._clock())
