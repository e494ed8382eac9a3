"""Clients with several addresses of one service: they call the next server if one is unreachable."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from noughts_proto.security import Dialling
from noughts_proto.v1 import status_pb2
from noughts_proto.v1.status_pb2_grpc import StatusServiceStub
from noughts_server.cli.options.server import AddressOptions
from noughts_server.web.upstream import Failure, Upstream
from tests.support.background import server_in_thread

STATUS_REQUEST = status_pb2.GetStatusRequest()


class Servers:
    """Two servers at addresses of their own."""

    def __init__(self, folder: Path) -> None:
        self._running = [ExitStack(), ExitStack()]
        self.addresses = [
            stack.enter_context(server_in_thread(f"sqlite:///{folder / str(place)}.db"))
            for place, stack in enumerate(self._running)
        ]

    def stop(self, place: int) -> None:
        self._running[place].close()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    two_servers = Servers(tmp_path)
    yield two_servers
    for place in (0, 1):
        two_servers.stop(place)


def test_commands_call_the_next_server_if_one_is_gone(servers: Servers) -> None:
    with AddressOptions(server=",".join(servers.addresses)).connected() as client:
        assert client.call(client.status.GetStatus, STATUS_REQUEST).address == servers.addresses[0]
        servers.stop(0)
        assert client.call(client.status.GetStatus, STATUS_REQUEST).address == servers.addresses[1]


async def test_website_calls_the_next_server_if_one_is_gone(servers: Servers) -> None:
    upstream = Upstream(",".join(servers.addresses), Dialling())
    assert (await upstream.call(upstream.status.GetStatus, STATUS_REQUEST)).address == servers.addresses[0]
    await asyncio.to_thread(servers.stop, 0)
    assert (await upstream.call(upstream.status.GetStatus, STATUS_REQUEST)).address == servers.addresses[1]
    await asyncio.to_thread(servers.stop, 1)
    with pytest.raises(Failure, match="cannot be reached"):
        await upstream.call(upstream.status.GetStatus, STATUS_REQUEST)
    await upstream.close()


def test_call_fails_if_no_server_is_there(servers: Servers) -> None:
    servers.stop(0)
    servers.stop(1)
    with Dialling().channel(",".join(servers.addresses)) as channel, pytest.raises(grpc.RpcError) as raised:
        StatusServiceStub(channel).GetStatus(STATUS_REQUEST, timeout=20)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
