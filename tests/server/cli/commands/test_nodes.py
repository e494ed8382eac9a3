"""`noughts nodes`: the live members of a cluster."""

import asyncio
import json
import socket
from functools import partial

import pytest

from noughts_server.cluster.heartbeats import node_name
from noughts_server.store.engine.database import Store
from noughts_server.store.nodes import Node, NodeKind, beat
from tests.server.cli.conftest import Noughts


@pytest.mark.parametrize("host", ["web1", "web-1", "web1." + 50 * "x"])
def test_nodes_here_are_those_of_this_machine_only(
    noughts: Noughts, database: str, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr("noughts_server.store.nodes.SILENCE_MS", 600_000)
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    node = Node(node_name(NodeKind.SERVER), NodeKind.SERVER, 0)

    async def join() -> None:
        store = await Store.open(database)
        try:
            await store.write(partial(beat, node=node, first=True))
        finally:
            await store.close()

    def nodes_here() -> list[str]:
        document = json.loads(noughts(f"nodes --db {database} --here --format json").stdout)
        return [shown["name"] for shown in document["nodes"]]

    asyncio.run(join())
    assert nodes_here() == [node.name]
    monkeypatch.setattr(socket, "gethostname", lambda: f"{host[:30]}0{host[30:]}")
    assert "found no live server or referee" in noughts(f"nodes --db {database} --here", code=1).stderr
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    assert nodes_here() == [node.name]
