"""Nodes of a cluster that get SIGTERM while they wait for another part of it."""

import asyncio

import pytest

from tests.cluster.cluster import running_cluster
from tests.support.patience import PATIENCE
from tests.support.postgresql import server


@pytest.mark.at_length
@pytest.mark.timeout(300)
async def test_nodes_end_by_sigterm_while_postgresql_is_frozen() -> None:
    async with running_cluster(servers=1, referees=1) as cluster:
        cluster.start_bots(["amy", "ben"], "Unhurried")
        await cluster.wait_until_online(["amy", "ben"])
        await cluster.organise("cup", ["amy", "ben"], games_per_pair=100_000)
        async with asyncio.timeout(PATIENCE):
            while not cluster.stored():  # noqa: ASYNC110  # other processes tell nobody
                await asyncio.sleep(0.05)
        nodes = (*cluster.referees, *cluster.servers)
        with server().frozen():
            codes = await asyncio.gather(*(asyncio.to_thread(node.stop) for node in nodes))
        assert codes[0] == 1, cluster.logs()
        assert "games_not_stored" in cluster.log(cluster.referees[0])
