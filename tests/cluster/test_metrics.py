"""Metrics and health of the servers and referees of a cluster."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.cluster.cluster import running_cluster
from tests.support.metrics import health, scrape
from tests.support.patience import PATIENCE

_METRICS = ("--metrics", "127.0.0.1:0")


async def test_metrics_show_the_load_of_a_cluster() -> None:
    names = ["amy", "ben"]
    async with running_cluster(servers=0, referees=2, options=_METRICS) as cluster:
        server = await cluster.start_server(*_METRICS)
        of_server = (await cluster.wait_for_announcement(server))["metrics"]
        referees = [await cluster.wait_for_announcement(referee) for referee in cluster.referees]
        cluster.start_bots(names)
        await cluster.wait_until_online(names)
        # Without a sample the database has not answered yet.
        assert (await scrape(of_server)).get(("noughts_units_open", ()), 0) == 0
        await cluster.organise("cup", names, games_per_pair=100_000)
        async with asyncio.timeout(PATIENCE):
            while True:
                during = await scrape(of_server)
                playing = [
                    referee["referee"]
                    for referee in referees
                    if during.get(("noughts_units_held", (referee["referee"],)))
                ]
                if playing and any(during.get(("noughts_games_running", (name,))) for name in playing):
                    break
        assert during["noughts_units_open", ()] > 0
        assert during["noughts_nodes", ("referee",)] == 2
        assert during["noughts_nodes", ("server",)] == 1
        await cluster.wait_for_more_games()
        await cluster.cancel("cup")
        async with asyncio.timeout(PATIENCE):
            while True:
                after = await scrape(of_server)
                played = [(await scrape(referee["metrics"]))["noughts_games_total", ()] for referee in referees]
                if after["noughts_games_total", ()] == sum(played) == cluster.stored() > 0:
                    break
        assert (await scrape(of_server))["noughts_units_open", ()] == 0


async def test_health_of_a_referee_follows_the_bus() -> None:
    async with running_cluster(servers=1, referees=1, options=_METRICS) as cluster:
        address = (await cluster.wait_for_announcement(cluster.referees[0]))["metrics"]
        assert await health(address) == (200, "ok\n")
        cluster.nats.kill()

        async def is_ill() -> bool:
            status, text = await health(address)
            return status == 503 and "is not connected" in text

        async def is_well() -> bool:
            return await health(address) == (200, "ok\n")

        await _until(is_ill)
        await asyncio.to_thread(cluster.nats.start)
        await _until(is_well)


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.02)
