"""Frames of HTTP/2 that no library would send: written by hand (RFC 9113, RFC 7541)."""

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

from noughts_proto.security import Dialling

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""What a client says first; its settings are empty."""
_HEADERS, _RESET, _SETTINGS, _PING, _CONTINUATION = 1, 3, 4, 6, 9
_END_HEADERS = 4
_AT_ONCE = 200
_LARGEST = 16_384
_PAUSE = 0.02

Flood = Callable[[], Iterator[bytes]]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def _literal(name: bytes, value: bytes) -> bytes:
    """A header field without indexing, both parts as they are; they are shorter than 127 bytes."""
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


_CALL = b"".join(
    _literal(name, value)
    for name, value in (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", b"/noughts.v1.BotService/ListBots"),
        (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    )
)


def continuations() -> Iterator[bytes]:
    """Headers that never end."""
    yield frame(_HEADERS, 0, 1, _CALL)
    filling = _literal(b"x-filling", b"a" * 100)
    while True:
        yield frame(_CONTINUATION, 0, 1, filling * (_LARGEST // len(filling)))


def pings() -> Iterator[bytes]:
    """Pings that have to be answered."""
    for number in count():
        yield frame(_PING, 0, 0, (number % 2**63).to_bytes(8, "big"))


def settings() -> Iterator[bytes]:
    """Settings that have to be acknowledged."""
    while True:
        yield frame(_SETTINGS, 0, 0)


def resets() -> Iterator[bytes]:
    """Calls that are made and taken back at once."""
    for number in range(1, 2**31, 2):
        yield frame(_HEADERS, _END_HEADERS, number, _CALL) + frame(_RESET, 0, number, (8).to_bytes(4, "big"))


def trusting(dialling: Dialling) -> ssl.SSLContext | None:
    """What a connection of HTTP/2 by TLS takes; None where it goes without."""
    if dialling.ca is None:
        return None
    trust = ssl.create_default_context(cafile=str(dialling.ca))
    trust.set_alpn_protocols(["h2"])
    return trust


async def flood(address: str, dialling: Dialling, frames: Flood, told: Counter[str]) -> None:
    """Sends what the flood says on one connection until that is closed."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=trusting(dialling))
    writer.write(PREFACE)
    sending = frames()

    async def read() -> None:
        with suppress(OSError):
            while await reader.read(_LARGEST):
                pass

    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(read())
        try:
            with suppress(OSError):
                while not reading.done():
                    writer.write(b"".join(next(sending) for _ in range(_AT_ONCE)))
                    await writer.drain()
                    told["frames"] += _AT_ONCE
                    await asyncio.sleep(0)
        finally:
            writer.transport.abort()
            reading.cancel()
    told["connections closed"] += 1
    await asyncio.sleep(_PAUSE)
