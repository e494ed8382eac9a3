"""Tests of submitted bots in one queue, whatever happens to the machines that play them."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noughts_proto.v1 import tests_pb2, tests_pb2_grpc
from noughts_proto.v1.tournaments_pb2 import Tournament
from noughts_referee.rules import ON_THE_BOARD
from tests.cluster.cluster import Cluster, running_cluster
from tests.support.databases import rows_of
from tests.support.hosting import C_EXAMPLES, compile_wasm
from tests.support.processes import environment, run_here

_BOTS = {"base": "random", "same": "random", "lowest": "lowest"}
_NEW = ("same", "same", "same", "lowest", "same") * 2
_GAMES = (
    "SELECT ordinal, first_entry, second_entry, result, termination, moves FROM games "
    "JOIN tournaments ON id = tournament_id WHERE slug = '{}' ORDER BY ordinal"
)
_RUNNING = "SELECT count(*) FROM tournaments WHERE state = 2"
_ACCEPTING = ("--accept", "wasm")
_SECONDS = 200.0
"""Limit of the wait for all tests, in seconds."""


@pytest.mark.timeout(600)
@pytest.mark.at_length
async def test_lost_machines_change_neither_verdicts_nor_games(tmp_path: Path) -> None:
    modules = {name: compile_wasm(C_EXAMPLES / f"{name}.c", tmp_path, name) for name in set(_BOTS.values())}
    async with running_cluster(servers=0, referees=0) as alone:
        await alone.start_server(*_ACCEPTING, alone=True)
        undisturbed = await _played(alone, modules)
    async with running_cluster(servers=2, referees=4, options=_ACCEPTING) as cluster:
        disturbed = await _played(cluster, modules, partial(_disturb, cluster))
        await cluster.check_records(*disturbed)
        for slug in disturbed:
            tournament = await cluster.tournament(slug)
            assert sum(referee.games for referee in tournament.match_details.referees) >= tournament.games_done
        assert all("units_claimed" in cluster.log(referee) for referee in cluster.referees), cluster.logs()
    for slug, result in undisturbed.items():
        assert disturbed[slug] == result, slug
    assert {verdict for verdict, _ in disturbed.values()} == {"H0", "H1"}


async def _disturb(cluster: Cluster) -> None:
    """Kill a referee, a server and the bus, while tests are running."""
    await _wait_for_more_games(cluster)
    cluster.referees[0].kill()
    await _wait_for_more_games(cluster)
    cluster.servers[0].kill()
    await _wait_for_more_games(cluster)
    cluster.nats.kill()
    await asyncio.sleep(1)
    await asyncio.to_thread(cluster.nats.start)
    await cluster.start_server()


async def _wait_for_more_games(cluster: Cluster) -> None:
    before = cluster.stored()
    async with asyncio.timeout(_SECONDS):
        while cluster.stored() < before + 50:  # noqa: ASYNC110  # other processes tell nobody
            await asyncio.sleep(0.05)
        assert rows_of(cluster.database, _RUNNING)[0][0], "all tests were over too early"


async def _nothing() -> None:
    """Leave it alone."""


async def _played(
    cluster: Cluster,
    modules: Mapping[str, Path],
    disturb: Callable[[], Coroutine[Any, Any, None]] = _nothing,
) -> dict[str, tuple[str, list[tuple[Any, ...]]]]:
    """Submit the bots, play a test of each new one, and return the verdict and the games of each test."""
    server = f"127.0.0.1:{cluster.front.port}"
    for name, module in _BOTS.items():
        words = ["bot", "submit", str(modules[module]), "--name", name, "--server", server]
        await asyncio.to_thread(run_here, words, environment(NOUGHTS_TOKEN=cluster.tokens["ada"]))
    await cluster.wait_until_online(list(_BOTS))
    tests = cluster.stub(tests_pb2_grpc.TestServiceStub)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(disturb())
        for number, new in enumerate(_NEW):
            playing = Tournament(
                variant="mnk:5,5,4",
                sprt=("elo0=0,elo1=25", "elo0=-25,elo1=0")[number % 2],
                seed=number,
                fuel=10_000_000,
                priority=number % 3,
                throughput=50 + 50 * (number % 2),
            )
            test = tests_pb2.Test(
                name=f"tests/{number}", new_version=f"bots/{new}", base_version="bots/base", tournament=playing
            )
            await cluster.call(tests.CreateTest, tests_pb2.CreateTestRequest(test=test, request_id=test.name))
    found = {}
    for number in range(len(_NEW)):
        slug = str(number)
        tournament = await cluster.wait_until_finished(slug, _SECONDS)
        assert cluster.endings(slug).keys() <= ON_THE_BOARD
        found[slug] = tournament.match.sprt.decision, rows_of(cluster.database, _GAMES.format(slug))
    return found
