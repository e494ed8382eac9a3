"""Frames of HTTP/2 made by hand, because no library sends them (RFC 9113, RFC 7541)."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count

from noughts_proto.security import Dialling
from noughts_proto.transport import TOKEN_KEY

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""The first bytes of a client; its settings are empty."""
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 6, 8, 9
_WINDOW_BYTES = (1 << 20).to_bytes(4, "big")
_ACK, _END_STREAM, _END_HEADERS = 1, 1, 4
_FRAMES_PER_WRITE = 200
_MOST_FRAME_BYTES = 16_384
_PAUSE = 0.02

Flood = Callable[[], Iterator[bytes]]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def _literal(name: bytes, value: bytes) -> bytes:
    """Return a header field without indexing and without compression; name and value have fewer than 127 bytes."""
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


def _call(method: str, token: str = "") -> bytes:
    """Return the headers of a call, e.g. of `BotService/ListBots`."""
    fields = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", f"/noughts.v1.{method}".encode()),
        (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    ]
    if token:
        fields.append((TOKEN_KEY.encode(), f"Bearer {token}".encode()))
    return b"".join(_literal(name, value) for name, value in fields)


_CALL = _call("BotService/ListBots")


class RawClient:
    """A client with an HTTP/2 window of 0: unless it `reads`, the server cannot send any byte of an answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, reads: bool) -> None:
        self._reader = reader
        self._writer = writer
        self._reads = reads
        self._stream_numbers = count(1, 2)
        self.header_frames = 0
        """The number of HEADERS frames from the server: one as an answer begins, and one with the call's status."""
        self.closed = asyncio.Event()
        """Set when the server has closed the connection."""

    def call(self, method: str, request: bytes | None = b"", token: str = "", *, ends: bool = True) -> None:
        """Send the headers of a call, and its request unless that is None. `ends`: no further message follows."""
        stream = next(self._stream_numbers)
        if self._reads:
            self._writer.write(frame(_WINDOW, 0, stream, _WINDOW_BYTES))
        self._writer.write(frame(_HEADERS, _END_HEADERS, stream, _call(method, token)))
        if request is not None:
            message = b"\0" + len(request).to_bytes(4, "big") + request
            self._writer.write(frame(_DATA, _END_STREAM if ends else 0, stream, message))

    async def read(self) -> None:
        """Read frames until the server closes the connection."""
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                header = await self._reader.readexactly(9)
                payload = await self._reader.readexactly(int.from_bytes(header[:3], "big"))
                kind, flags = header[3], header[4]
                self.header_frames += int(kind == _HEADERS)
                if kind in (_PING, _SETTINGS) and not flags & _ACK:
                    self._writer.write(frame(kind, _ACK, 0, payload if kind == _PING else b""))
                elif kind == _DATA and self._reads:
                    for stream in (0, int.from_bytes(header[5:], "big")):
                        self._writer.write(frame(_WINDOW, 0, stream, len(payload).to_bytes(4, "big")))
        self.closed.set()


@asynccontextmanager
async def raw_client(address: str, source: str = "127.0.0.1", *, reads: bool = False) -> AsyncIterator[RawClient]:
    """Connect a `RawClient` from an address of this machine to the server at HOST:PORT."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=(source, 0))
    no_window = (4).to_bytes(2, "big") + (0).to_bytes(4, "big")
    writer.write(PREFACE[:-9] + frame(_SETTINGS, 0, 0, no_window))
    client = RawClient(reader, writer, reads=reads)
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(client.read())
        try:
            yield client
        finally:
            reading.cancel()
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


def continuations() -> Iterator[bytes]:
    """Yield frames of headers that never end."""
    yield frame(_HEADERS, 0, 1, _CALL)
    filling = _literal(b"x-filling", b"a" * 100)
    while True:
        yield frame(_CONTINUATION, 0, 1, filling * (_MOST_FRAME_BYTES // len(filling)))


def pings() -> Iterator[bytes]:
    """Yield pings, which the server must answer."""
    for number in count():
        yield frame(_PING, 0, 0, (number % 2**63).to_bytes(8, "big"))


def settings() -> Iterator[bytes]:
    """Yield settings, which the server must acknowledge."""
    while True:
        yield frame(_SETTINGS, 0, 0)


def resets() -> Iterator[bytes]:
    """Yield calls, each with its cancellation."""
    for number in range(1, 2**31, 2):
        yield frame(_HEADERS, _END_HEADERS, number, _CALL) + frame(_RESET, 0, number, (8).to_bytes(4, "big"))


def client_tls(dialling: Dialling) -> ssl.SSLContext | None:
    """Return the TLS settings of an HTTP/2 connection; None without TLS."""
    if dialling.ca is None:
        return None
    context = ssl.create_default_context(cafile=str(dialling.ca))
    context.set_alpn_protocols(["h2"])
    return context


async def flood(address: str, dialling: Dialling, frames: Flood, counts: Counter[str]) -> None:
    """Send the frames on one connection until the server closes it."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=client_tls(dialling))
    writer.write(PREFACE)
    frame_iterator = frames()

    async def read() -> None:
        with suppress(OSError):
            while await reader.read(_MOST_FRAME_BYTES):
                pass

    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(read())
        try:
            with suppress(OSError):
                while not reading.done():
                    writer.write(b"".join(next(frame_iterator) for _ in range(_FRAMES_PER_WRITE)))
                    await writer.drain()
                    counts["frames"] += _FRAMES_PER_WRITE
                    await asyncio.sleep(0)
        finally:
            writer.transport.abort()
            reading.cancel()
    counts["connections closed"] += 1
    await asyncio.sleep(_PAUSE)
