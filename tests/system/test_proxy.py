"""The documented configuration of the reverse proxy, between real bots and a real server."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc
import grpc.aio
import psutil
import pytest

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.security import Dialling
from noughts_proto.v1 import feed_pb2, feed_pb2_grpc, status_pb2, status_pb2_grpc, tournaments_pb2
from noughts_server.core.limits import Limits
from noughts_server.services.access import VISITOR, Access, Context
from noughts_server.services.admission import Admission
from noughts_server.services.status import StatusServicer
from noughts_server.web.event_streams import LiveSettings
from tests.chaos import http2
from tests.support.client import Client, client_of
from tests.support.loopback import wait_until
from tests.support.proxy import free_port, proxy_before
from tests.support.site import site_of

_LARGEST_FLOOD = 20_000_000


@asynccontextmanager
async def server_behind_proxy(folder: Path, **limits: int) -> AsyncIterator[tuple[Client, str, Dialling]]:
    """Run a server and a proxy in front of it; yield a client, the proxy's address, and the settings to dial it."""
    async with client_of(folder / "x.sqlite", limits=Limits(**limits), proxies=("127.0.0.1",)) as client:
        with proxy_before(client.server.address, folder) as (address, dialling):
            yield client, address, dialling


@pytest.mark.processes
async def test_a_tournament_is_played_through_the_proxy(tmp_path: Path) -> None:
    async with server_behind_proxy(tmp_path) as (client, address, dialling):
        token = await client.token()
        news: asyncio.Queue[SessionEvent] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            playing = [
                tasks.create_task(play(Random(), Login(address, token, name, dialling=dialling), news.put_nowait))
                for name in ("ada", "bob")
            ]
            for _ in playing:
                assert isinstance(await asyncio.wait_for(news.get(), 30), Online)
            await client.create(token, games_per_pair=200, concurrency=50)
            for name in ("ada", "bob"):
                await client.join(token, name)
            await client.start(token)
            finished_cup = await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
            for task in playing:
                task.cancel()
        assert finished_cup.games_done == 200


async def test_the_server_trusts_the_proxy_about_addresses_not_visitors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses: list[str] = []
    get_status = StatusServicer.GetStatus

    async def record_address(self: StatusServicer, request: Any, context: Any) -> Any:
        addresses.append(VISITOR.get().address)
        return await get_status(self, request, context)

    record_address.__dict__.update(get_status.__dict__)  # keep the declared access of the method
    monkeypatch.setattr(StatusServicer, "GetStatus", record_address)
    async with server_behind_proxy(tmp_path) as (_, address, dialling), dialling.async_channel(address) as channel:
        status = status_pb2_grpc.StatusServiceStub(channel)
        await status.GetStatus(status_pb2.GetStatusRequest(), metadata=(("x-real-ip", "192.0.2.66"),))
    assert addresses == ["127.0.0.1"]


async def test_the_website_is_read_through_the_proxy(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        await asyncio.to_thread(_read_site_through_proxy, client.server.address, tmp_path)


def _read_site_through_proxy(server: str, folder: Path) -> None:
    public = f"127.0.0.1:{free_port()}"
    one_stream = LiveSettings(address_streams=1)
    with site_of(server, one_stream, proxies=("127.0.0.1",), public_url=f"https://{public}") as site:
        site_address = site.address.removeprefix("http://")
        with proxy_before(server, folder, site_address, public) as (_, dialling):
            trust = ssl.create_default_context(cafile=str(dialling.ca))

            def ask(path: str) -> HTTPResponse:
                request = Request(f"https://{public}{path}", headers={"x-real-ip": "192.0.2.66"})
                answer: HTTPResponse = urlopen(request, timeout=30, context=trust)
                return answer

            assert f"https://{public}/tournaments.atom" in ask("/tournaments.atom").read().decode()
            with ask("/api/v1/featured/events") as events:
                assert b"event: snapshot" in b"".join(events.readline() for _ in range(2))
                with pytest.raises(HTTPError) as raised:
                    ask("/api/v1/featured/events")
                assert "from 127.0.0.1 are" in json.load(raised.value)["error"]["message"]


async def test_connections_beyond_those_of_the_page_are_refused_by_the_proxy(tmp_path: Path) -> None:
    async with server_behind_proxy(tmp_path) as (client, address, dialling):
        options = (("grpc.use_local_subchannel_pool", 1),)
        credentials = grpc.ssl_channel_credentials(dialling.ca.read_bytes())  # type: ignore[union-attr]
        channels = [grpc.aio.secure_channel(address, credentials, options=options) for _ in range(70)]
        try:
            request = feed_pb2.WatchRequest(name="featured")
            stubs: list[Any] = [feed_pb2_grpc.FeedServiceStub(channel) for channel in channels]
            calls = [stub.Watch(request) for stub in stubs]
            outcomes = await asyncio.gather(*(call.read() for call in calls), return_exceptions=True)
            refused = [outcome for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
            assert len(refused) >= 6
            assert client.server.feed.counts.watchers <= 64
        finally:
            for channel in channels:
                await channel.close()
        await wait_until(lambda: not client.server.feed.counts.watchers)


@pytest.mark.parametrize("frames", [http2.continuations, http2.pings, http2.resets])
async def test_a_flood_of_frames_ends_at_the_proxy(
    tmp_path: Path, frames: http2.Flood, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    admit = Admission.admit

    def count_call(self: Admission, access: Access, context: Context, method: str) -> Any:
        calls.append(context.peer())
        return admit(self, access, context, method)

    monkeypatch.setattr(Admission, "admit", count_call)
    async with server_behind_proxy(tmp_path) as (client, address, dialling):
        before = used_mebibytes()
        sent = await asyncio.to_thread(send_flood, address, dialling, frames)
        assert sent > 100_000
        assert len(calls) < sent / 10_000  # a call takes 200 bytes
        assert used_mebibytes() < before + 50
        assert await client.serving("") == "SERVING"


def used_mebibytes() -> int:
    """Return the memory of this process, in which the server runs, and of the proxy, in MiB."""
    this = psutil.Process()
    total_bytes: int = sum(process.memory_info().rss for process in (this, *this.children(recursive=True)))
    return total_bytes >> 20


def send_flood(address: str, dialling: Dialling, frames: http2.Flood) -> int:
    """Send the flood until the proxy closes the connection, or 20 MB; return the number of bytes."""
    trust = http2.client_tls(dialling)
    assert trust is not None
    host, _, port = address.rpartition(":")
    sent = 0
    with (
        suppress(OSError),
        trust.wrap_socket(socket.create_connection((host, int(port)), 10), server_hostname=host) as to,
    ):
        to.sendall(http2.PREFACE)
        for frame in frames():
            to.sendall(frame)
            sent += len(frame)
            if sent >= _LARGEST_FLOOD:
                break
    return sent
