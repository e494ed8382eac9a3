"""Calls that their callers cancel, and servers that stop."""

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
from tests.support.patience import PATIENCE


async def start_cup(client: Client) -> None:
    director = client.server.director
    await director.run_uncancelled(lambda: director.start("cup"))


async def cancel_while_writing(client: Client, monkeypatch: pytest.MonkeyPatch, call: Awaitable[object]) -> None:
    """Make the call, and cancel it while its write waits for another write of the store."""
    store, write_requested, release = client.server.store, asyncio.Event(), threading.Event()
    write = store.write

    async def noting_write(function: Any) -> Any:
        write_requested.set()
        return await write(function)

    async def make_call() -> None:
        await call

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.write(lambda _: release.wait(20)))
        monkeypatch.setattr(store, "write", noting_write)
        calling = tasks.create_task(make_call())
        async with asyncio.timeout(PATIENCE):
            await write_requested.wait()
        calling.cancel()
        await asyncio.wait([calling])
        release.set()
        monkeypatch.setattr(store, "write", write)


async def test_a_start_whose_caller_cancelled_is_played(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bert"):
        await client.create(token)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        await cancel_while_writing(client, monkeypatch, start_cup(client))
        await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)


async def test_a_cancelled_call_that_fails_logs_no_error(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await client.token()
    await client.create(token)
    await cancel_while_writing(client, monkeypatch, start_cup(client))
    # The start failed, because the tournament has no entries. This write comes after that of the start.
    assert (await client.cancel(token)).state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_a_stopping_server_accepts_no_work_and_ends_running_work(tmp_path: Path) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async with client_of(tmp_path / "x.sqlite") as client, asyncio.TaskGroup() as tasks:
        director = client.server.director

        async def refused_work() -> None:
            with pytest.raises(Draining):
                await director.run_uncancelled(never)

        async with director.directing():
            tasks.create_task(refused_work())
            await asyncio.sleep(0)
        await refused_work()


async def test_a_server_raises_its_limit_of_open_files(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = 65_536 if before[1] == resource.RLIM_INFINITY else min(65_536, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        async with running_server(ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'noughts.db'}")):
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (highest, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
