"""Live events: each watched resource is followed upstream once, however many browsers watch it.

A `Stream` follows one resource of the server's feed. It keeps the current state (`View`) and the last increments.
Each event is serialised once, and one loop writes it to the connections of all browsers that read. For the others, it
waits in the bounded buffer of their `Watcher`. A browser that reads too slowly gets a snapshot instead of its events.
"""

import asyncio
import json
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc.aio

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.client.client import resume
from noughts_server.client.failures import DEADLINE_SECONDS, PASSING
from noughts_server.core.board_geometry import geometry
from noughts_server.drawing.board_svg import winning_lines, with_board
from noughts_server.web.documents import Document, document
from noughts_server.web.upstream import AWAY_HINT, Failure, Upstream
from noughts_server.web.visitors import add

_FEATURED = "featured"
"""The resource of the start page, which is always followed."""
_HEARTBEAT = b": still here\n\n"


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """Limits of live events. Times in seconds."""

    most_streams: int = 10_000
    address_streams: int = 64
    """Event streams to one address."""
    most_followed: int = 200
    """Resources followed at once: fewer than the server's limit for one connection (`limits.connection_calls`)."""
    kept: int = 512
    """Events of a resource that are kept for browsers that reconnect."""
    buffered: int = 256
    """Events that may wait for one browser; beyond that, the browser gets a snapshot instead."""
    linger: float = 10.0
    """Seconds for which a resource without watchers is still followed."""
    heartbeat: float = 15.0
    """The interval between heartbeats to browsers."""
    first_wait: float = 0.2
    """Wait before the first reconnection to a lost server; it doubles each time."""
    longest_wait: float = 5.0


class Hub:
    """All resources that are followed."""

    def __init__(self, upstream: Upstream, tasks: asyncio.TaskGroup, settings: LiveSettings | None = None) -> None:
        """`tasks` owns the tasks that follow the server."""
        self.settings = settings or LiveSettings()
        self._upstream = upstream
        self._tasks = tasks
        self._streams: dict[str, Stream] = {}
        self._watchers_of: Counter[str] = Counter()
        self._closed = False
        self._beating: asyncio.Task[None] | None = None

    @property
    def followed(self) -> int:
        """The number of resources followed upstream."""
        return len(self._streams)

    @property
    def watchers(self) -> int:
        """The number of browsers that watch."""
        return self._watchers_of.total()

    @asynccontextmanager
    async def watching(
        self, name: str, address: str = "", last_event: str = "", transport: asyncio.WriteTransport | None = None
    ) -> "AsyncIterator[Watcher]":
        """Yield a watcher at this address. Raises Failure.

        `last_event` is the id of the last event that it received. If there is a `transport`, events are written to it
        while the reader of `Watcher.events` waits.
        """
        settings = self.settings
        if self.watchers >= settings.most_streams:
            raise Failure(503, f"{settings.most_streams:,} browsers are already watching.", "Try again in a minute.")
        if self._watchers_of[address] >= settings.address_streams:
            hint = "Close other pages. Behind a reverse proxy: noughts web --proxy ADDRESS tells visitors apart."
            raise Failure(429, f"{settings.address_streams} pages from {address} are already open.", hint)
        self._watchers_of[address] += 1
        try:
            stream = await self._following(name, address)
            watcher = stream.join(last_event, transport, address)
            if self._beating is None:
                self._beating = self._tasks.create_task(self._beat(), name="heartbeats of events")
            try:
                yield watcher
            finally:
                stream.leave(watcher)
        finally:
            add(self._watchers_of, address, -1)

    async def known(self, name: str) -> Document:
        """Return the snapshot with which a watcher would begin. Raises Failure."""
        if name not in self._streams and not self._has_room(name):
            stream = self._follow(name, {})
            try:
                return (await self._begun(stream)).snapshot()
            finally:
                stream.stop()
        stream = await self._following(name)
        stream.linger()
        return stream.snapshot()

    def close(self) -> None:
        """End all streams; browsers reconnect by themselves. Idempotent."""
        self._closed = True
        if self._beating is not None:
            self._beating.cancel()
        for stream in list(self._streams.values()):
            stream.stop()
            for watcher in stream.watchers:
                watcher.abandon()

    async def _beat(self) -> None:
        """Send heartbeats. One clock serves all browsers: a timer for each would cost as much as sending it a move."""
        while True:
            await asyncio.sleep(self.settings.heartbeat)
            for stream in list(self._streams.values()):
                stream.tell(_HEARTBEAT)

    async def _following(self, name: str, address: str | None = None) -> "Stream":
        if self._closed:
            raise Failure(503, "This website is restarting.", "It will be back shortly.")
        stream = self._streams.get(name)
        if stream is None:
            if not self._has_room(name, address):
                words = f"{self.settings.most_followed} games and tournaments are already being followed."
                raise Failure(503, words, "Try again in a minute.")
            stream = self._streams[name] = self._follow(name, self._streams, address)
        return await self._begun(stream)

    def _follow(self, name: str, streams: "dict[str, Stream]", address: str | None = None) -> "Stream":
        stream = Stream(name, self._upstream, self.settings, streams, address)
        stream.task = self._tasks.create_task(stream.run(), name=f"follow {name}")
        return stream

    async def _begun(self, stream: "Stream") -> "Stream":
        """Wait for the stream's first snapshot. Raises Failure."""
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await stream.begun.wait()
        except TimeoutError:
            stream.linger()
            raise Failure(504, f"The server did not answer within {DEADLINE_SECONDS:.0f} s.") from None
        if stream.failure is not None:
            raise stream.failure.with_traceback(None)
        return stream

    def _has_room(self, name: str, address: str | None = None) -> bool:
        """Return whether one more resource can be followed; if necessary, stop another one.

        That is one without watchers, or one that only the address with the most such resources watches.
        """
        if len(self._streams) >= self.settings.most_followed:
            unwatched = next((stream for stream in self._streams.values() if stream.idle), None)
            if stopped := unwatched or self._excess(address):
                stopped.stop()
        return len(self._streams) < self.settings.most_followed or name == _FEATURED

    def _excess(self, address: str | None) -> "Stream | None":
        """Return the resource that is stopped for this address; None if no address has two more of its own."""
        if address is None:
            return None
        of: defaultdict[str | None, list[Stream]] = defaultdict(list)
        for name, stream in self._streams.items():
            if name != _FEATURED and len(watching := stream.addresses) == 1:
                of[watching.pop()].append(stream)
        greediest = max(of.values(), key=len, default=[])
        return greediest[0] if len(greediest) > len(of[address]) + 1 else None


class Stream:
    """One resource of the server's feed."""

    def __init__(
        self,
        name: str,
        upstream: Upstream,
        settings: LiveSettings,
        streams: "dict[str, Stream]",
        address: str | None = None,
    ) -> None:
        """`address` asked for the resource first."""
        self.watchers: set[Watcher] = set()
        self.task: asyncio.Task[None] | None = None
        self.begun = asyncio.Event()
        """Set when there is a snapshot, or a failure instead of it."""
        self.failure: Failure | None = None
        self.over = False
        """Whether no more events will follow."""
        self._name = name
        self._address = address
        self._upstream = upstream
        self._settings = settings
        self._streams = streams
        self._view = View()
        self._moved_at: dict[str, float] = {}
        """The time of each game's last ply, by the event loop's clock."""
        self._epoch = self._sequence = 0
        self._kept: deque[bytes] = deque(maxlen=settings.kept)
        self._away: Failure | None = None
        self._leaving: asyncio.TimerHandle | None = None

    # For watchers.

    @property
    def idle(self) -> bool:
        """Whether nobody watches and it is only followed in case a browser reconnects."""
        return self._leaving is not None and not self.watchers

    @property
    def addresses(self) -> set[str | None]:
        """Return the addresses that watch; if none watches yet, the one that asked."""
        return {watcher.address for watcher in self.watchers} or {self._address}

    def join(
        self, last_event: str, transport: asyncio.WriteTransport | None = None, address: str | None = None
    ) -> "Watcher":
        """Return a new watcher that begins with the events it missed, or with a snapshot if they are not kept."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        watcher = Watcher(self, self._settings, transport, address)
        missed = self._missed(last_event)
        for event in [self.snapshot_event()] if missed is None else missed:
            watcher.offer(event)
        if missed is not None and self._away is not None:
            watcher.offer(_event("away", _told(self._away)))
        if self.over:
            watcher.end(_event("over", {}))
        self.watchers.add(watcher)
        return watcher

    def leave(self, watcher: "Watcher") -> None:
        self.watchers.discard(watcher)
        self.linger()

    def linger(self) -> None:
        """If nobody watches, stop after `linger` seconds unless a watcher joins before."""
        if not self.watchers:
            if self._leaving is not None:
                self._leaving.cancel()
            self._leaving = asyncio.get_running_loop().call_later(self._settings.linger, self.stop)

    def stop(self) -> None:
        """End the stream and its watchers."""
        if self._leaving is not None:
            self._leaving.cancel()
        if self.task is not None:
            self.task.cancel()
        self._refused(self.failure or Failure(503, "This website is restarting.", "It will be back shortly."))

    def snapshot(self) -> Document:
        """Return the current state."""
        known = document(self._view.snapshot())
        now = asyncio.get_running_loop().time()
        known["games"] = [
            {**with_board(game), "age_ms": round(1000 * (now - self._moved_at.get(game["name"], now)))}
            for game in known["games"]
        ]
        return known

    def snapshot_event(self) -> bytes:
        """Return a snapshot, followed by the news that the server is away if it is."""
        away = b"" if self._away is None else _event("away", _told(self._away))
        return _event("snapshot", self.snapshot(), self._id()) + away

    # Following the server.

    async def run(self) -> None:
        """Follow until the resource is over or the server refuses."""
        request = pb.WatchRequest(name=self._name)
        wait = self._settings.first_wait
        while True:
            try:
                await self._upstream.connect()
                async for message in self._upstream.feed.Watch(request, metadata=self._upstream.site_metadata):
                    wait = self._settings.first_wait
                    resume(request, message)
                    self.take(message)
            except grpc.aio.AioRpcError as error:
                failure = self._upstream.failure(error)
                if error.code() not in PASSING or not self._view.seen:
                    self._refused(failure)
                    return
                if self._away is None:
                    self._away = failure
                    self.tell(_event("away", _told(failure)))
            else:
                self.over = True
                for watcher in self.watchers:
                    watcher.end(_event("over", {}))
                self.linger()
                return
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._settings.longest_wait)

    def take(self, message: pb.WatchResponse) -> None:
        """Apply the server's next message."""
        if self._away is not None:
            self._away = None
            self.tell(_event("back", {}))
        if message.HasField("resync"):
            return
        self._view.take(message)
        self._epoch, self._sequence = message.epoch, message.sequence
        if message.HasField("snapshot"):
            self._moved_at.clear()
            self._kept.clear()
            self.begun.set()
            self.tell(self.snapshot_event())
            return
        self._note(message.increments)
        told = document(message.increments)
        told["games"] = [with_board(game) for game in told["games"]]
        for end in told["ends"]:
            end["winning_lines"] = self._winning_lines(end)
        event = _event("increments", told, self._id())
        self._kept.append(event)
        self.tell(event)

    def _winning_lines(self, end: Document) -> list[tuple[int, int]]:
        game = self._view.games.get(end["game"])
        board = geometry(game.variant) if game else None
        if game is None or board is None or not game.moves:
            return []
        return winning_lines(board, end["winning_cells"], game.moves[-1])

    def _note(self, increments: pb.Increments) -> None:
        now = asyncio.get_running_loop().time()
        for name in increments.gone:
            self._moved_at.pop(name, None)
        for game in increments.games:
            self._moved_at[game.name] = now
        for ply in increments.plies:
            self._moved_at[ply.game] = now

    def _refused(self, failure: Failure) -> None:
        self.failure = failure
        self.begun.set()
        if self._streams.get(self._name) is self:
            del self._streams[self._name]
        for watcher in self.watchers:
            watcher.end()

    def tell(self, event: bytes) -> None:
        """Write the event to all browsers that have read the earlier ones, and queue it for the others."""
        chunk = b"%x\r\n%b\r\n" % (len(event), event)
        for watcher in self.watchers:
            transport = watcher.direct
            if transport is None or transport.is_closing() or transport.get_write_buffer_size():
                watcher.offer(event)
            else:
                transport.write(chunk)

    def _missed(self, last_event: str) -> list[bytes] | None:
        epoch, _, sequence = last_event.partition("-")
        if len(sequence) > 20 or not sequence.isascii() or not sequence.isdigit() or epoch != f"{self._epoch:x}":
            return None
        missed = self._sequence - int(sequence)
        return list(self._kept)[len(self._kept) - missed :] if 0 <= missed <= len(self._kept) else None

    def _id(self) -> str:
        return f"{self._epoch:x}-{self._sequence}"


class Watcher:
    """One browser that watches."""

    # With slots, the loop over thousands of watchers reads less memory.
    __slots__ = (
        "_behind",
        "_ended",
        "_settings",
        "_something",
        "_stream",
        "_transport",
        "_waiting",
        "address",
        "direct",
    )

    def __init__(
        self, stream: Stream, settings: LiveSettings, transport: asyncio.WriteTransport | None, address: str | None
    ) -> None:
        self.address = address
        self.direct: asyncio.WriteTransport | None = None
        """The transport, only while the reader of `events` has sent everything and waits for more."""
        self._stream = stream
        self._settings = settings
        self._transport = transport
        self._waiting: deque[bytes] = deque()
        self._something = asyncio.Event()
        self._behind = False
        self._ended = False

    def offer(self, event: bytes) -> None:
        """Queue an event for the browser."""
        if self._behind:
            return
        if len(self._waiting) >= self._settings.buffered:
            # The queued events would be out of date when they are read: send one snapshot instead.
            self._behind = True
            self._waiting.clear()
        else:
            self._waiting.append(event)
        self._wake()

    def end(self, last: bytes = b"") -> None:
        """End the events, with this last one."""
        if last:
            self._waiting.append(last)
        self._ended = True
        self._wake()

    def abandon(self) -> None:
        """Close the connection if the browser does not read: it would delay the website's end."""
        if self._transport is not None and self._transport.get_write_buffer_size():
            self._transport.abort()

    def _wake(self) -> None:
        self.direct = None
        self._something.set()

    async def events(self) -> AsyncIterator[bytes]:
        """Yield the events that cannot be written directly, until the end."""
        while True:
            if self._behind:
                self._behind = False
                yield self._stream.snapshot_event()
            elif self._waiting:
                yield self._waiting.popleft()
            elif self._ended:
                return
            else:
                self.direct = self._transport
                self._something.clear()
                await self._something.wait()


def _told(failure: Failure) -> Document:
    return {"message": failure.message, "hint": failure.hint or AWAY_HINT}


def _event(kind: str, told: Document, number: str = "") -> bytes:
    head = f"id: {number}\n" if number else ""
    return f"{head}event: {kind}\ndata: {json.dumps(told, separators=(',', ':'), allow_nan=False)}\n\n".encode()
