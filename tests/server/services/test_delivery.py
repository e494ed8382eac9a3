"""Callers that do not read their answers, and idle connections."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from noughts_proto.transport import SITE_KEY
from noughts_proto.v1 import bots_pb2, feed_pb2, feed_pb2_grpc
from noughts_server.core.limits import Limits
from noughts_server.services.delivery import ANSWER_BYTES, Delivery
from tests.chaos.http2 import RawClient, raw_client
from tests.support.client import Client, bearer, client_of, hello, refusal_of
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE

SHORT_SECONDS = 0.2
LIST = "BotService/ListBots"
WATCH = feed_pb2.WatchRequest(name="featured").SerializeToString()


@asynccontextmanager
async def with_deaf(folder: Path, *, seconds: float = 600.0, **limits: int) -> AsyncIterator[tuple[Client, RawClient]]:
    """A client of a server with these limits, and a raw HTTP/2 client of it that never reads answers."""
    opened = client_of(folder / "x.sqlite", limits=Limits(**limits), answer_seconds=seconds)
    async with opened as client, raw_client(client.server.address) as other:
        yield client, other


async def list_bots(client: Client, **call: Any) -> None:
    await client.bots.ListBots(bots_pb2.ListBotsRequest(), **call)


async def list_bots_for_ever(client: Client) -> None:
    while True:
        await list_bots(client)


async def test_unread_answers_hold_no_place_of_other_callers(tmp_path: Path) -> None:
    async with with_deaf(tmp_path, strangers=2, address_strangers=2) as (client, other):
        for _ in range(2):
            other.call(LIST)
        await wait_until(lambda: other.header_frames == 2)
        await list_bots(client)


@pytest.mark.parametrize(
    "method, request_bytes", [(LIST, b""), ("FeedService/Watch", WATCH), ("PlayService/Play", b"")]
)
async def test_a_caller_that_does_not_read_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, request_bytes: bytes
) -> None:
    async with with_deaf(tmp_path, seconds=SHORT_SECONDS) as (client, other):
        playing = method.endswith("Play")
        token = await client.token() if playing else ""
        other.call(method, hello().SerializeToString() if playing else request_bytes, token, ends=not playing)
        async with asyncio.timeout(PATIENCE):
            await other.closed.wait()
        # On a busy machine, even a caller that reads at once can take longer.
        monkeypatch.setattr(Delivery, "limit_rest", lambda *_: None)
        await list_bots(client)
        assert client.server.counters.refused["unread_bytes"]


async def test_unread_bytes_of_one_caller_are_limited(tmp_path: Path) -> None:
    async with with_deaf(tmp_path, caller_unread_bytes=2 * ANSWER_BYTES + 1) as (client, other):
        for _ in range(2):
            other.call(LIST)
        await wait_until(lambda: other.header_frames == 2)
        assert (await refusal_of(list_bots(client))).info.metadata["limit"] == "caller_unread_bytes"
        await list_bots(client, metadata=bearer(await client.token()))


async def test_the_caller_with_the_most_unread_bytes_is_disconnected(tmp_path: Path) -> None:
    async with with_deaf(tmp_path, unread_bytes=2 * ANSWER_BYTES + 1) as (client, other):
        for _ in range(2):
            other.call(LIST)
        await wait_until(lambda: other.header_frames == 2)
        await list_bots(client, metadata=bearer(await client.token()))
        async with asyncio.timeout(PATIENCE):
            await other.closed.wait()


async def test_a_website_has_places_that_strangers_cannot_take(tmp_path: Path) -> None:
    async with with_deaf(tmp_path, strangers=1, address_strangers=1) as (client, other):
        site = ((SITE_KEY, await client.token("site", "site")),)
        other.call(LIST, request=None)  # holds a place while the server waits for the request
        with pytest.raises(grpc.aio.AioRpcError, match="calls without a token"):
            await list_bots_for_ever(client)
        await list_bots(client, metadata=site)


async def test_idle_connections_of_one_address_are_limited(tmp_path: Path) -> None:
    async with with_deaf(tmp_path, address_connections=4) as (client, busy_connection), AsyncExitStack() as stack:
        busy_connection.call("FeedService/Watch", WATCH)
        await wait_until(lambda: busy_connection.header_frames)
        idle_connections = [await stack.enter_async_context(raw_client(client.server.address)) for _ in range(12)]
        await wait_until(lambda: sum(not other.closed.is_set() for other in idle_connections) <= 3)
        assert not busy_connection.closed.is_set()


LOCK_PROGRAM = """
import fcntl, sys
with open(sys.argv[1], "r+b") as shared:
    fcntl.lockf(shared, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 128)  # the byte that every user of the database locks
"""


@pytest.mark.processes
async def test_closing_connections_keeps_the_locks_of_the_database(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(address_connections=1)) as client:
        async with raw_client(client.server.address) as first, raw_client(client.server.address) as second:
            await wait_until(lambda: first.closed.is_set() or second.closed.is_set())
        lock = [sys.executable, "-P", "-c", LOCK_PROGRAM, str(tmp_path / "x.sqlite-shm")]
        attempt = await asyncio.to_thread(subprocess.run, lock, capture_output=True, text=True)
        assert "BlockingIOError" in attempt.stderr


async def test_websites_and_owners_have_streams_of_their_own(tmp_path: Path) -> None:
    async with with_deaf(tmp_path, watchers=1, owner_watchers=1) as (client, _):
        site, owner = (SITE_KEY, await client.token("site", "site")), bearer(await client.token())[0]
        async with grpc.aio.insecure_channel(client.server.address) as channel:
            stub: Any = feed_pb2_grpc.FeedServiceStub(channel)
            for metadata in ((), (site,), (owner,)):
                request = feed_pb2.WatchRequest(name="featured")
                open_stream = stub.Watch(request, metadata=metadata)
                assert isinstance(await open_stream.read(), feed_pb2.WatchResponse)
                assert (await refusal_of(stub.Watch(request, metadata=metadata).read())).reason == "LIMIT_REACHED"


async def test_calls_that_send_no_request_are_ended_for_other_callers(tmp_path: Path) -> None:
    async with with_deaf(tmp_path, strangers=4) as (client, _), raw_client(client.server.address, "127.0.0.3") as other:
        for _ in range(4):
            other.call(LIST, request=None)
        while not other.header_frames:
            await list_bots(client)


async def test_callers_that_are_cut_off_leave_nothing_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with with_deaf(tmp_path, seconds=SHORT_SECONDS) as (client, other):
        for _ in range(20):
            other.call(LIST)
            other.call("FeedService/Watch", WATCH)
        async with asyncio.timeout(PATIENCE):
            await other.closed.wait()
        await wait_until(lambda: not client.server.feed.counts.watchers)
        assert not client.server.counters.errors
    assert not [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
