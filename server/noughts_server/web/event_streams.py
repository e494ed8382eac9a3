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
from noughts_server.client.client import continue_after
from noughts_server.client.failures import DEADLINE_SECONDS, TEMPORARY_CODES
from noughts_server.core.board_geometry import geometry
from noughts_server.drawing.board_svg import winning_lines, with_board
from noughts_server.web.documents import Document, document
from noughts_server.web.upstream import AWAY_HINT, Failure, Upstream
from noughts_server.web.visitors import add

_FEATURED = "featured"
"""The resource of the start page, which is always followed."""
_BOARDS = "?boards="
"""Separates the number of boards in the name of a stream. Names of resources have no question mark."""
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
        """The tasks that follow the server belong to `tasks`."""
        self.settings = settings or LiveSettings()
        self._upstream = upstream
        self._tasks = tasks
        self._streams: dict[str, Stream] = {}
        self._watchers_by_address: Counter[str] = Counter()
        self._closed = False
        self._heartbeat_task: asyncio.Task[None] | None = None

    @property
    def followed(self) -> int:
        """The number of resources followed upstream."""
        return len(self._streams)

    @property
    def watchers(self) -> int:
        """The number of browsers that watch."""
        return self._watchers_by_address.total()

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
        if self._watchers_by_address[address] >= settings.address_streams:
            hint = "Close other pages. Behind a reverse proxy: noughts web --proxy ADDRESS tells visitors apart."
            raise Failure(429, f"{settings.address_streams} pages from {address} are already open.", hint)
        self._watchers_by_address[address] += 1
        try:
            stream = await self._followed_stream(name, address)
            watcher = stream.join(last_event, transport, address)
            if self._heartbeat_task is None:
                self._heartbeat_task = self._tasks.create_task(self._send_heartbeats(), name="heartbeats of events")
            try:
                yield watcher
            finally:
                stream.leave(watcher)
        finally:
            add(self._watchers_by_address, address, -1)

    async def snapshot_of(self, name: str) -> Document:
        """Return the current state of a resource. Raises Failure."""
        if name not in self._streams and not self._has_room(name):
            stream = self._follow(name, {})
            try:
                return (await self._begun_stream(stream)).snapshot()
            finally:
                stream.stop()
        stream = await self._followed_stream(name)
        stream.linger()
        return stream.snapshot()

    def close(self) -> None:
        """End all streams; browsers reconnect by themselves. Idempotent."""
        self._closed = True
        if self._heartbeat_task is not None:
            self._heartbeat_task.cancel()
        for stream in list(self._streams.values()):
            stream.stop()
            for watcher in stream.watchers:
                watcher.abandon()

    async def _send_heartbeats(self) -> None:
        """Send heartbeats to all browsers. A timer for each browser would cost as much time as sending it a move."""
        while True:
            await asyncio.sleep(self.settings.heartbeat)
            for stream in list(self._streams.values()):
                stream.send(_HEARTBEAT)

    async def _followed_stream(self, name: str, address: str | None = None) -> "Stream":
        if self._closed:
            raise Failure(503, "This website is restarting.", "It will be back shortly.")
        stream = self._streams.get(name)
        if stream is None:
            if not self._has_room(name, address):
                words = f"{self.settings.most_followed} games and tournaments are already being followed."
                raise Failure(503, words, "Try again in a minute.")
            stream = self._streams[name] = self._follow(name, self._streams, address)
        return await self._begun_stream(stream)

    def _follow(self, name: str, streams: "dict[str, Stream]", address: str | None = None) -> "Stream":
        stream = Stream(name, self._upstream, self.settings, streams, address)
        stream.task = self._tasks.create_task(stream.run(), name=f"follow {name}")
        return stream

    async def _begun_stream(self, stream: "Stream") -> "Stream":
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

        First stop one without watchers. Without such a resource, stop one that `_excess` chooses.
        """
        if len(self._streams) >= self.settings.most_followed:
            unwatched = next((stream for stream in self._streams.values() if stream.is_idle), None)
            stream_to_stop = unwatched or self._excess(address)
            if stream_to_stop is not None:
                stream_to_stop.stop()
        return len(self._streams) < self.settings.most_followed or name == _FEATURED

    def _excess(self, address: str | None) -> "Stream | None":
        """Return the resource to stop in favour of this address; None if there is none.

        The address with the most resources that no other address watches gives one up, if it has at least two more of
        these than this address.
        """
        if address is None:
            return None
        streams_by_address: defaultdict[str | None, list[Stream]] = defaultdict(list)
        for name, stream in self._streams.items():
            addresses = stream.addresses
            if name != _FEATURED and len(addresses) == 1:
                streams_by_address[addresses.pop()].append(stream)
        most_streams = max(streams_by_address.values(), key=len, default=[])
        return most_streams[0] if len(most_streams) > len(streams_by_address[address]) + 1 else None


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
        """`address` is that of the first visitor who requested the resource."""
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
        self._epoch = 0
        self._sequence = 0
        self._kept: deque[bytes] = deque(maxlen=settings.kept)
        self._away: Failure | None = None
        self._stop_timer: asyncio.TimerHandle | None = None

    # For watchers.

    @property
    def is_idle(self) -> bool:
        """Whether the stream has no watcher, and stops soon unless a browser reconnects."""
        return self._stop_timer is not None and not self.watchers

    @property
    def addresses(self) -> set[str | None]:
        """The addresses of the watchers; before the first watcher, that of the first request."""
        return {watcher.address for watcher in self.watchers} or {self._address}

    def join(
        self, last_event: str, transport: asyncio.WriteTransport | None = None, address: str | None = None
    ) -> "Watcher":
        """Return a new watcher. It begins with the events after `last_event`, or with a snapshot if they are lost."""
        if self._stop_timer is not None:
            self._stop_timer.cancel()
            self._stop_timer = None
        watcher = Watcher(self, self._settings, transport, address)
        missed = self._missed(last_event)
        for event in [self.snapshot_event()] if missed is None else missed:
            watcher.offer(event)
        if missed is not None and self._away is not None:
            watcher.offer(_event("away", _failure_document(self._away)))
        if self.over:
            watcher.end(_event("over", {}))
        self.watchers.add(watcher)
        return watcher

    def leave(self, watcher: "Watcher") -> None:
        self.watchers.discard(watcher)
        self.linger()

    def linger(self) -> None:
        """If there is no watcher, stop after `linger` seconds, unless a watcher joins before."""
        if not self.watchers:
            if self._stop_timer is not None:
                self._stop_timer.cancel()
            self._stop_timer = asyncio.get_running_loop().call_later(self._settings.linger, self.stop)

    def stop(self) -> None:
        """End the stream and its watchers."""
        if self._stop_timer is not None:
            self._stop_timer.cancel()
        if self.task is not None:
            self.task.cancel()
        self._end_with_failure(self.failure or Failure(503, "This website is restarting.", "It will be back shortly."))

    def snapshot(self) -> Document:
        """Return the current state."""
        state = document(self._view.snapshot())
        now = asyncio.get_running_loop().time()
        state["games"] = [
            {**with_board(game), "age_ms": round(1000 * (now - self._moved_at.get(game["name"], now)))}
            for game in state["games"]
        ]
        return state

    def snapshot_event(self) -> bytes:
        """Return a snapshot, followed by the event `away` if the server cannot be reached."""
        away = b"" if self._away is None else _event("away", _failure_document(self._away))
        return _event("snapshot", self.snapshot(), self._id()) + away

    # Following the server.

    async def run(self) -> None:
        """Follow the resource until it is over or the server refuses the call."""
        request = _watch_request(self._name)
        wait = self._settings.first_wait
        while True:
            try:
                await self._upstream.connect()
                async for message in self._upstream.feed.Watch(request, metadata=self._upstream.site_metadata):
                    wait = self._settings.first_wait
                    continue_after(request, message)
                    self.take(message)
            except grpc.aio.AioRpcError as error:
                failure = self._upstream.failure(error)
                if error.code() not in TEMPORARY_CODES or not self._view.has_snapshot:
                    self._end_with_failure(failure)
                    return
                if self._away is None:
                    self._away = failure
                    self.send(_event("away", _failure_document(failure)))
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
            self.send(_event("back", {}))
        if message.HasField("resync"):
            return
        self._view.take(message)
        self._epoch = message.epoch
        self._sequence = message.sequence
        if message.HasField("snapshot"):
            self._moved_at.clear()
            self._kept.clear()
            self.begun.set()
            self.send(self.snapshot_event())
            return
        self._note_moves(message.increments)
        increments = document(message.increments)
        increments["games"] = [with_board(game) for game in increments["games"]]
        for end in increments["ends"]:
            end["winning_lines"] = self._winning_lines(end)
        event = _event("increments", increments, self._id())
        self._kept.append(event)
        self.send(event)

    def _winning_lines(self, end: Document) -> list[tuple[int, int]]:
        """Return the lines through the winning cells of a game that has ended; empty without a board."""
        game = self._view.games.get(end["game"])
        board = geometry(game.variant) if game else None
        if game is None or board is None or not game.moves:
            return []
        return winning_lines(board, end["winning_cells"], game.moves[-1])

    def _note_moves(self, increments: pb.Increments) -> None:
        now = asyncio.get_running_loop().time()
        for name in increments.gone:
            self._moved_at.pop(name, None)
        for game in increments.games:
            self._moved_at[game.name] = now
        for ply in increments.plies:
            self._moved_at[ply.game] = now

    def _end_with_failure(self, failure: Failure) -> None:
        self.failure = failure
        self.begun.set()
        if self._streams.get(self._name) is self:
            del self._streams[self._name]
        for watcher in self.watchers:
            watcher.end()

    def send(self, event: bytes) -> None:
        """Write the event to all browsers that have read the earlier ones, and queue it for the others."""
        chunk = b"%x\r\n%b\r\n" % (len(event), event)
        for watcher in self.watchers:
            transport = watcher.direct
            if transport is None or transport.is_closing() or transport.get_write_buffer_size():
                watcher.offer(event)
            else:
                transport.write(chunk)

    def _missed(self, last_event: str) -> list[bytes] | None:
        """Return the events after the one with this id; None if they are not kept."""
        epoch, _, sequence = last_event.partition("-")
        if len(sequence) > 20 or not sequence.isascii() or not sequence.isdigit() or epoch != f"{self._epoch:x}":
            return None
        count = self._sequence - int(sequence)
        return list(self._kept)[len(self._kept) - count :] if 0 <= count <= len(self._kept) else None

    def _id(self) -> str:
        return f"{self._epoch:x}-{self._sequence}"


class Watcher:
    """A browser that watches a resource."""

    # Slots make the loop over thousands of watchers faster, because it reads less memory.
    __slots__ = (
        "_has_ended",
        "_is_behind",
        "_queue",
        "_settings",
        "_stream",
        "_transport",
        "_wakeup",
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
        self._queue: deque[bytes] = deque()
        self._wakeup = asyncio.Event()
        self._is_behind = False
        self._has_ended = False

    def offer(self, event: bytes) -> None:
        """Queue an event for the browser."""
        if self._is_behind:
            return
        if len(self._queue) >= self._settings.buffered:
            # The queued events would be out of date when they are read: send one snapshot instead.
            self._is_behind = True
            self._queue.clear()
        else:
            self._queue.append(event)
        self._wake()

    def end(self, last: bytes = b"") -> None:
        """End the events after those in the queue and this last one."""
        if last:
            self._queue.append(last)
        self._has_ended = True
        self._wake()

    def abandon(self) -> None:
        """Close the connection if the browser does not read, because it would delay the end of the website."""
        if self._transport is not None and self._transport.get_write_buffer_size():
            self._transport.abort()

    def _wake(self) -> None:
        self.direct = None
        self._wakeup.set()

    async def events(self) -> AsyncIterator[bytes]:
        """Yield the events that were not written to the transport directly, until the end."""
        while True:
            if self._is_behind:
                self._is_behind = False
                yield self._stream.snapshot_event()
            elif self._queue:
                yield self._queue.popleft()
            elif self._has_ended:
                return
            else:
                self.direct = self._transport
                self._wakeup.clear()
                await self._wakeup.wait()


def with_boards(name: str, boards: int) -> str:
    """Return the name of a stream of a resource that shows this number of games move by move."""
    return f"{name}{_BOARDS}{boards}"


def _watch_request(name: str) -> pb.WatchRequest:
    """Return the request for the stream with this name."""
    resource, _, boards = name.partition(_BOARDS)
    return pb.WatchRequest(name=resource, boards=int(boards or 0))


def _failure_document(failure: Failure) -> Document:
    return {"message": failure.message, "hint": failure.hint or AWAY_HINT}


def _event(kind: str, content: Document, number: str = "") -> bytes:
    """Return a server-sent event; `number` is its id."""
    head = f"id: {number}\n" if number else ""
    return f"{head}event: {kind}\ndata: {json.dumps(content, separators=(',', ':'), allow_nan=False)}\n\n".encode()
