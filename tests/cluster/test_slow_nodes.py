"""Slow nodes: play continues, by them or by other nodes, and no unit or tournament stops for ever."""

import asyncio

import pytest

from noughts_proto.v1 import status_pb2, status_pb2_grpc
from noughts_proto.v1.tournaments_pb2 import TOURNAMENT_STATE_RUNNING
from noughts_referee.rules import Termination
from tests.cluster.cluster import running_cluster
from tests.cluster.slow import LEAGUES, NAMES, run_stops, stop_often, wait_until_continues
from tests.support.databases import POSTGRESQL, SQLITE
from tests.support.loopback import wait_until

pytestmark = pytest.mark.at_length


@pytest.mark.timeout(300)
async def test_holder_of_a_unit_that_is_stopped_for_8_s_was_not_lost() -> None:
    await run_stops(2)


@pytest.mark.timeout(300)
async def test_server_of_a_cluster_that_is_stopped_for_8_s_loses_nothing() -> None:
    async with running_cluster(servers=2, referees=1) as cluster:
        cluster.start_bots(NAMES, "Unhurried")
        await cluster.wait_until_online(NAMES)
        await cluster.organise("clocks", NAMES, **LEAGUES["clocks"])
        servers = iter(list(cluster.servers))
        await stop_often(cluster, "clocks", 2, lambda: next(servers))
        assert cluster.endings("clocks").keys() == {Termination.LINE}


@pytest.mark.parametrize("database", [SQLITE, POSTGRESQL])
@pytest.mark.timeout(300)
async def test_server_alone_that_is_stopped_for_8_s_continues(database: str) -> None:
    async with running_cluster(servers=0, referees=0, database=database) as cluster:
        server = await cluster.start_server(alone=True)
        cluster.start_bots(NAMES, "Unhurried")
        await cluster.wait_until_online(NAMES)
        await cluster.organise("clocks", NAMES, **LEAGUES["clocks"])
        await stop_often(cluster, "clocks", 1, lambda: server)


@pytest.mark.timeout(300)
async def test_a_tournament_without_a_referee_reports_it_until_one_joins() -> None:
    async with running_cluster(servers=1, referees=0) as cluster:
        cluster.start_bots(NAMES, "Unhurried")
        await cluster.wait_until_online(NAMES)
        await cluster.organise("clocks", NAMES, **LEAGUES["clocks"])
        status = cluster.stub(status_pb2_grpc.StatusServiceStub)
        problem = ""
        while not problem:
            found = await cluster.call(status.GetStatus, status_pb2.GetStatusRequest())
            problem = found.tournaments[0].problem
            await asyncio.sleep(0.05)
        tournament = await cluster.tournament("clocks")
        assert tournament.reason == problem
        assert tournament.state == TOURNAMENT_STATE_RUNNING
        assert "noughts referee" in tournament.reason
        await cluster.start_referee()
        await wait_until_continues(cluster, "clocks", 0)
        await wait_until(lambda: "event=tournament_resumed" in cluster.logs())
        stopped = next(line for line in cluster.logs().splitlines() if "event=tournament_stopped" in line)
        assert 'reason=NO_REFEREE error="no referee is connected"' in stopped
        assert 'hint="start one with `noughts referee`." retry_seconds=2.0' in stopped
