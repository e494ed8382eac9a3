"""A referee on another host: it plays over a real network, and others take over when its cable is pulled."""

import asyncio
import socket
from collections.abc import Callable

import pytest

from noughts_referee.rules import ON_THE_BOARD
from tests.chaos.child_processes import ForkedProcess
from tests.cluster.cluster import Cluster, distant_addresses, running_cluster
from tests.support.databases import rows_of
from tests.support.namespaces import another_host
from tests.support.patience import PATIENCE


@pytest.mark.timeout(200)
async def test_games_of_a_disconnected_referee_move_to_another() -> None:
    names = ["amy", "ben", "cora"]
    own_interfaces = socket.if_nameindex()
    with another_host() as host:
        assert socket.if_nameindex() == own_interfaces
        async with (
            running_cluster(servers=1, referees=1) as cluster,
            distant_addresses(cluster, host) as (bus, database, _),
        ):
            far = await cluster.start_referee("--insecure", bus=bus, database=database, host=host.name)
            cluster.start_bots(names, "Unhurried")
            await cluster.wait_until_online(names)
            await cluster.organise("league", names, games_per_pair=200)
            await _until(lambda: _units_of(cluster, far) > 0)
            host.cut()
            await _until(lambda: _units_of(cluster, far) == 0)
            host.restore()
            await _until(lambda: "node_presumed_dead" in cluster.log(far))
            await cluster.wait_until_finished("league")
            assert cluster.endings("league").keys() <= ON_THE_BOARD
            await cluster.check_records("league")


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if condition():
                return
            await asyncio.sleep(0.05)


def _units_of(cluster: Cluster, referee: ForkedProcess) -> int:
    """Return the number of units that the referee is playing."""
    held = f"SELECT count(*) FROM units WHERE holder LIKE '%-{referee.pid}-%'"
    return int(rows_of(cluster.database, held)[0][0])
