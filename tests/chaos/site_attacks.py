"""Attacks by visitors of the website: requests that are too large, too many, or endless."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any
from urllib.parse import urlencode

_PAUSE = 0.05
# Connections of each attack.
_STREAMS, _HALVES, _HEADS, _READERS, _VISITORS = 1_000, 3_000, 256, 300, 300
_ADDRESSES = 60
"""Addresses of the attackers, because the website limits connections by address."""
_HELD_SECONDS = 30
"""Seconds for which a client leaves its answer unread."""
_PIPELINED = 20_000
"""Requests that are sent on one connection without reading an answer."""
_PIECE = 16_384
"""Bytes that are sent or read at once."""

Exchange = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[str]]
"""Uses one connection, and returns the outcome to count."""


async def streams(target: Any) -> None:
    """Visitors open event streams of games, which exist or not, and keep them open."""
    numbers = count(1)

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        name = f"tournaments/fast/games/{next(numbers) % 2_000}"
        status = await _status_of(reader, writer, f"GET /api/v1/{name}/events HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        while status == "200" and await reader.read(_PIECE):
            pass
        return f"stream: {status}"

    await _repeat_on_connections(target, _STREAMS, keep)


async def heads(target: Any) -> None:
    """Visitors send endless heads of requests: long headers, tiny headers, a long address."""
    endless = (b"x-long: " + b"x" * _PIECE, b"a:\r\n" * (_PIECE // 4), b"x" * _PIECE)
    kinds = count()

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        kind = next(kinds) % len(endless)
        writer.write(b"GET /" if kind == 2 else b"GET / HTTP/1.1\r\nhost: x\r\n")
        with suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(endless[kind])
                await writer.drain()
                await asyncio.sleep(0.001)
        return "head: closed"

    await _repeat_on_connections(target, _HEADS, send)


async def waiting_heads(target: Any) -> None:
    """Visitors send almost the longest head that the server accepts, as tiny headers, and then nothing more."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a:\r\n" * 8_100)
        return f"waiting head: {await _status(reader)}"

    await _repeat_on_connections(target, _HEADS, send)


async def half_requests(target: Any) -> None:
    """Visitors send the first half of a request."""
    halves = (
        b"",
        b"GET / HTTP/1.1\r\nhost: he",
        b"POST /signin HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\ntoken=",
    )
    kinds = count()

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(halves[next(kinds) % len(halves)])
        return f"half: {await _status(reader)}"

    await _repeat_on_connections(target, _HALVES, send)


async def pipelines(target: Any) -> None:
    """Visitors send thousands of requests on one connection behind one whose answer never ends."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(
            b"GET /api/v1/featured/events HTTP/1.1\r\nhost: x\r\n\r\n" + b"GET / HTTP/1.1\r\n\r\n" * _PIPELINED
        )
        while await reader.read(_PIECE):
            pass
        return "pipeline: closed"

    await _repeat_on_connections(target, _HEADS, send)


async def slow_readers(target: Any) -> None:
    """Visitors request long lists, and do not read them."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"GET /api/v1/tournaments/fast/games?page_size=1000 HTTP/1.1\r\nhost: x\r\n\r\n")
        await asyncio.sleep(_HELD_SECONDS)
        return "answer not read"

    await _repeat_on_connections(target, _READERS, send)


async def pages(target: Any) -> None:
    """Hundreds of visitors request a page again and again."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        status = await _status_of(reader, writer, b"GET /tournaments/fast HTTP/1.0\r\n\r\n")
        return f"page: {status}"

    await _repeat_on_connections(target, _VISITORS, send)


async def long_lists(target: Any) -> None:
    """A visitor requests lists of a thousand games, and files of all games of a tournament."""
    paths = ("/api/v1/tournaments/archive/games?page_size=1000", "/tournaments/archive/games.jsonl")
    kinds = count()

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        path = paths[next(kinds) % len(paths)]
        status = await _status_of(reader, writer, f"GET {path} HTTP/1.0\r\n\r\n".encode())
        while await reader.read(_PIECE):
            pass
        return f"list: {status}"

    await _repeat_on_connections(target, 4, send)


async def expensive_pages(target: Any) -> None:
    """Sixty addresses request the slowest pages: lists of games on large boards, and their explorer."""
    paths = ("/tournaments/archive/games", "/explorer?variant=mnk%3A30%2C30%2C5&time_class=untimed&moves=0,899")
    kinds = count()

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        path = paths[next(kinds) % len(paths)]
        status = await _status_of(reader, writer, f"GET {path} HTTP/1.0\r\n\r\n".encode())
        while await reader.read(_PIECE):
            pass
        return f"page: {status}"

    async with asyncio.TaskGroup() as tasks:
        for number in range(_ADDRESSES):
            tasks.create_task(_repeat_on_connections(target, 2, send, f"127.0.1.{number}"))


async def held_downloads(target: Any) -> None:
    """Sixty addresses begin to download all games, two files each, and read only their beginnings."""
    kinds = count()

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        suffix = ("sgf", "jsonl")[next(kinds) % 2]
        status = await _status_of(reader, writer, f"GET /tournaments/fast/games.{suffix} HTTP/1.0\r\n\r\n".encode())
        await asyncio.sleep(_HELD_SECONDS)
        return f"download: {status}"

    async with asyncio.TaskGroup() as tasks:
        for number in range(_ADDRESSES):
            tasks.create_task(_repeat_on_connections(target, 2, send, f"127.0.1.{number}"))


async def tables(target: Any) -> None:
    """A visitor opens as many tables as possible, and begins games at them."""
    form = urlencode({"opponent": "house:random", "variant": "tictactoe", "begins": "they"}).encode()
    head = b"POST /play HTTP/1.0\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: %d\r\n\r\n"

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        return f"table: {await _status_of(reader, writer, head % len(form) + form)}"

    await _repeat_on_connections(target, 16, send)


async def _status_of(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> str:
    writer.write(request)
    await writer.drain()
    return await _status(reader)


async def _status(reader: asyncio.StreamReader) -> str:
    """Return the status of an answer from its first line; the rest of it stays unread."""
    line = await reader.readline()
    return line.split(b" ")[1].decode() if line.startswith(b"HTTP/") else "closed"


async def _repeat_on_connections(target: Any, at_once: int, exchange: Exchange, source: str = "127.0.0.1") -> None:
    """Repeat the exchange on this number of concurrent connections from this address."""
    host, _, port = target.site.rpartition(":")

    async def attempt() -> None:
        reader, writer = await asyncio.open_connection(host, int(port), local_addr=(source, 0))
        try:
            target.counts[await exchange(reader, writer)] += 1
        finally:
            writer.transport.abort()

    async def repeat() -> None:
        while True:
            try:
                await attempt()
            except OSError as error:
                target.counts[type(error).__name__] += 1
            await asyncio.sleep(_PAUSE)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(repeat())
