"""Parts of a cluster are replaced or end while games are played: no game is broken off, and no bot loses time."""

import asyncio
import json
from urllib.request import urlopen

import pytest

from noughts_proto.v1.tournaments_pb2 import TOURNAMENT_STATE_RUNNING
from noughts_referee.rules import ON_THE_BOARD
from tests.cluster.cluster import running_cluster
from tests.support.patience import PATIENCE
from tests.support.processes import environment, first_line, run_noughts, started


@pytest.mark.at_length
async def test_every_part_is_replaced_while_it_plays_and_no_game_is_broken_off() -> None:
    names = ["amy", "ben", "cora", "dan"]
    async with running_cluster(referees=2) as cluster:
        cluster.start_bots(names[:2], "Unhurried")
        cluster.start_bots(names[2:], "Unhurried")
        await cluster.wait_until_online(names)
        await cluster.organise("league", names, games_per_pair=100, time={"move_us": 20_000_000})
        await cluster.wait_for_more_games()
        for members, start in ((cluster.servers, cluster.start_server), (cluster.referees, cluster.start_referee)):
            for old in tuple(members):
                await start()
                assert await asyncio.to_thread(old.stop) == 0, cluster.log(old)
                members.remove(old)
                await cluster.wait_for_more_games()
        assert (await cluster.tournament("league")).state == TOURNAMENT_STATE_RUNNING
        await cluster.wait_until_finished("league")
        assert cluster.endings("league").keys() <= ON_THE_BOARD
        await cluster.check_records("league")


async def test_the_end_of_a_server_costs_its_bots_no_time() -> None:
    async with running_cluster(servers=1, referees=1) as cluster:
        cluster.start_bots(["amy", "ben"], "Unhurried")
        await cluster.wait_until_online(["amy", "ben"])
        await cluster.organise("league", ["amy", "ben"], games_per_pair=100, time={"bank_us": 3_000_000})
        await cluster.wait_for_more_games()
        cluster.servers.pop().kill()
        await asyncio.sleep(4)
        await cluster.start_server()
        await cluster.wait_until_finished("league")
        # It was away for longer than their clocks had left, so its bot gets the open question again.
        assert cluster.endings("league").keys() <= ON_THE_BOARD


@pytest.mark.at_length
async def test_all_clients_use_the_next_address_after_a_kill() -> None:
    async with running_cluster(referees=1) as cluster:
        addresses = ",".join(cluster.addresses[str(server.output)] for server in cluster.servers)
        variables = environment(NOUGHTS_SERVER=addresses, NOUGHTS_TOKEN=cluster.tokens["ada"])
        with started(["web", "--listen", "127.0.0.1:0", "--format", "json"], variables) as web:
            site = json.loads(await asyncio.to_thread(first_line, web))["web"]
            cluster.start_bots(["amy", "ben"], "Unhurried", address=addresses)
            await cluster.wait_until_online(["amy", "ben"])
            await cluster.organise("league", ["amy", "ben"], games_per_pair=300, time={"move_us": 20_000_000})
            await cluster.wait_for_more_games()
            assert await asyncio.to_thread(_page, f"{site}/api/v1/tournaments/league")
            cluster.servers.pop(0).kill()
            await cluster.wait_for_more_games()
            completed = await asyncio.to_thread(
                run_noughts, ["tournament", "show", "league", "--format", "json"], variables
            )
            assert json.loads(completed.stdout)["state"] == "running"
            document = json.loads(await asyncio.to_thread(_page, f"{site}/api/v1/tournaments/league"))
            assert "league" in json.dumps(document)
        await cluster.wait_until_finished("league")
        assert cluster.endings("league").keys() <= ON_THE_BOARD
        await cluster.check_records("league")


def _page(address: str) -> bytes:
    with urlopen(address, timeout=PATIENCE) as answer:
        page: bytes = answer.read()
    return page
