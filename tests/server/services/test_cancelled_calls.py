"""Callers that hang up, and servers that stop."""

import asyncio
import resource
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from noughts_proto.v1 import tournaments_pb2
from noughts_server.core.errors import Draining
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from tests.support.client import Client, client_of


async def started(client: Client) -> None:
    director = client.server.director
    await director.uncancelled(lambda: director.start("cup"))


async def given_up(client: Client, monkeypatch: pytest.MonkeyPatch, call: Awaitable[object]) -> None:
    """Makes the call and gives it up when it has asked the store to write, which is busy until afterwards."""
    store, asked, free = client.server.store, asyncio.Event(), threading.Event()
    write = store.write

    async def noticed(function: Any) -> Any:
        asked.set()
        return await write(function)

    async def make() -> None:
        await call

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.write(lambda _: free.wait(20)))
        monkeypatch.setattr(store, "write", noticed)
        calling = tasks.create_task(make())
        async with asyncio.timeout(20):
            await asked.wait()
        calling.cancel()
        await asyncio.wait([calling])
        free.set()
        monkeypatch.setattr(store, "write", write)


async def test_a_start_whose_caller_has_hung_up_is_played(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bert"):
        await client.create(token)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        await given_up(client, monkeypatch, started(client))
        await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)


async def test_what_a_caller_who_has_hung_up_asked_for_fails_quietly(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await client.token()
    await client.create(token)
    await given_up(client, monkeypatch, started(client))
    # Without entries; and the writer is free again when this has been written.
    assert (await client.cancel(token)).state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_a_server_that_goes_down_takes_no_work_and_leaves_none(tmp_path: Path) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async with client_of(tmp_path / "x.sqlite") as client, asyncio.TaskGroup() as tasks:
        director = client.server.director

        async def refused_work() -> None:
            with pytest.raises(Draining):
                await director.uncancelled(never)

        async with director.directing():
            tasks.create_task(refused_work())
            await asyncio.sleep(0)
        await refused_work()


async def test_a_server_has_as_many_files_as_it_may(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if before[1] == resource.RLIM_INFINITY else min(65_536, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        async with running_server(ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'noughts.db'}")):
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
