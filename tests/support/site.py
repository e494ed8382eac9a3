"""A site in a thread of its own, and requests and event streams to it without a browser."""

import asyncio
import json
import queue
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from typing import Any, NamedTuple
from urllib.parse import urlencode

from noughts_bots import Bot, Position
from noughts_proto.security import Dialling
from noughts_server.testing import ServerUnderTest
from noughts_server.web.event_streams import Hub, LiveSettings
from noughts_server.web.listener import address_of, listening
from noughts_server.web.serving import running_site
from tests.support.patience import PATIENCE
from tests.support.processes import eventually

_BLOCKS = "caption|dd|div|dl|dt|form|h[1-4]|li|ol|option|p|section|table|tbody|td|th|thead|tr|ul"
_BREAKS_AT_BLOCKS = re.compile(rf"\s*\n\s*(?=</?(?:{_BLOCKS})\b)|(</?(?:{_BLOCKS})\b[^>]*>)\s*\n\s*")


class Answer(NamedTuple):
    """An answer of the site."""

    status: int
    headers: dict[str, str]
    """The headers, by lower-case name."""
    body: bytes

    @property
    def text(self) -> str:
        """The body. In an HTML page, each line break is replaced by a space, or by nothing next to a tag of a block."""
        text = self.body.decode()
        if not self.headers.get("content-type", "").startswith("text/html"):
            return text
        return re.sub(r"\s*\n\s*", " ", _BREAKS_AT_BLOCKS.sub(r"\1", text))

    @property
    def document(self) -> Any:
        return json.loads(self.body)


class Site:
    """A running site."""

    def __init__(self, address: str, hub: Hub) -> None:
        self.address = address
        """`http://HOST:PORT`."""
        self.hub = hub

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Return the answer to a request. Names of headers are written with `_` for `-`."""
        response = self._send_request(path, method, headers)
        try:
            return Answer(response.status, _headers(response), response.read())
        finally:
            response.close()

    def post(self, path: str, form: dict[str, str], **headers: str) -> Answer:
        """Return the answer to a form that is sent to the path, without following redirects."""
        headers_with_type = {"content_type": "application/x-www-form-urlencoded", **headers}
        response = self._send_request(path, "POST", headers_with_type, urlencode(form))
        try:
            return Answer(response.status, _headers(response), response.read())
        finally:
            response.close()

    @contextmanager
    def events(self, path: str, **headers: str) -> "Iterator[Events]":
        """The stream of events at the path; it is closed at the end of the block."""
        response = self._send_request(path, "GET", headers)
        try:
            assert response.status == 200, response.read()
            yield Events(response)
        finally:
            response.close()

    def _send_request(self, path: str, method: str, headers: dict[str, str], body: str | None = None) -> HTTPResponse:
        connection = HTTPConnection(self.address.removeprefix("http://"), timeout=PATIENCE)
        sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        # With this header only the response holds the socket, so that closing the response closes it.
        connection.request(method, path, body, headers={"Connection": "close", **sent_headers})
        return connection.getresponse()


@contextmanager
def connection_to(site: Site, source: str = "127.0.0.1", receive_bytes: int = 0) -> Iterator[socket.socket]:
    """A connection to the site from this address of this machine. `receive_bytes`: size of its receive buffer."""
    host, _, port = site.address.removeprefix("http://").partition(":")
    with socket.socket() as connection:
        connection.settimeout(PATIENCE)
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.bind((source, 0))
        connection.connect((host, int(port)))
        yield connection


class Event(NamedTuple):
    """An event of a stream."""

    kind: str
    number: str
    data: Any


class Events:
    """A stream of events, read one by one."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response

    def next(self) -> Event | None:
        """Return the next event, or None at the end of the stream."""
        fields: dict[str, str] = {}
        while line := self._response.readline().decode():
            if line == "\n" and "event" in fields:
                return Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            name, _, value = line.rstrip("\n").partition(": ")
            fields[name] = value
        return None

    def until(self, kind: str) -> Event:
        """Return the next event of this kind; skip others."""
        while (event := self.next()) is not None:
            if event.kind == kind:
                return event
        raise AssertionError(f"the stream ended without {kind}")


@contextmanager
def site_of(
    server: str,
    settings: LiveSettings | None = None,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    run: Callable[[Any], object] = asyncio.run,
    send_bytes: int = 0,
    **options: Any,
) -> Iterator[Site]:
    """The site of the server at this address, on this port or a free one; `options` as of `running_site`.

    `run` runs its event loop. Its connections can have send buffers of `send_bytes`.
    """
    listener = listening(host, port)
    if send_bytes:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
    address = address_of(listener)
    entered: Future[tuple[Hub, Callable[[], object]]] = Future()

    async def serve() -> None:
        stopping, loop = asyncio.Event(), asyncio.get_running_loop()
        async with running_site(server, Dialling(), listener, settings, **options) as hub:
            entered.set_result((hub, partial(loop.call_soon_threadsafe, stopping.set)))
            await stopping.wait()

    with ThreadPoolExecutor(1, "site") as pool:
        served = pool.submit(run, serve())
        while not entered.done():
            if served.done():
                served.result()
            time.sleep(0.01)
        hub, stop = entered.result()
        try:
            yield Site(address, hub)
        finally:
            stop()
            served.result(PATIENCE)


class ScriptedBot(Bot):
    """Waits for each move until the test puts it into a queue."""

    def __init__(self, moves: "queue.Queue[int]") -> None:
        self._moves = moves

    def choose(self, position: Position) -> int:
        return self._moves.get(timeout=PATIENCE)


class First(ScriptedBot):
    """The first mover, whose label is the name of this class."""


class Second(ScriptedBot):
    """The second mover, whose label is the name of this class."""


class LiveGame:
    """A running game whose moves the test decides."""

    def __init__(self, moves: "tuple[queue.Queue[int], queue.Queue[int]]") -> None:
        self._moves = moves
        self._ply = 0
        self.name = ""

    def play(self, *cells: int) -> None:
        """The bots play these cells in turn."""
        for cell in cells:
            self._moves[self._ply % 2].put(cell)
            self._ply += 1


@contextmanager
def live_game(
    server: ServerUnderTest, site: Site, *, variant: str = "tictactoe", live_analysis: bool = False
) -> Iterator[LiveGame]:
    """A running game of two scripted bots. The test must play it to its end inside the block."""
    moves: tuple[queue.Queue[int], queue.Queue[int]] = (queue.Queue(), queue.Queue())
    game = LiveGame(moves)
    names_before = {tournament["name"] for tournament in site.get("/api/v1/tournaments").document["tournaments"]}
    errors: list[BaseException] = []

    def play() -> None:
        try:
            first, second = First(moves[0]), Second(moves[1])
            server.match(first, second, variant=variant, games=1, timeout=2 * PATIENCE, live_analysis=live_analysis)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=play, name="match")
    thread.start()

    def new_running_tournament() -> str:
        tournaments = site.get("/api/v1/tournaments").document["tournaments"]
        return next(
            (
                tournament["name"]
                for tournament in tournaments
                if tournament["name"] not in names_before and tournament["state"] == "running"
            ),
            "",
        )

    game.name = f"{eventually(new_running_tournament)}/games/1"
    # The tournament runs a moment before its first game does.
    eventually(lambda: '"state":"running"' in site.get(f"/{game.name}").text)
    yield game
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not errors, errors


def _headers(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}
