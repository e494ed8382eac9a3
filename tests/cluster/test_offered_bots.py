"""Bots that a referee offers, and submitted bots, are played where they can run."""

import asyncio
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from noughts_proto.v1 import games_pb2, games_pb2_grpc
from noughts_referee.rules import ON_THE_BOARD
from tests.cluster.cluster import running_cluster
from tests.cluster.run import bot_file
from tests.support.children.field import PROGRAMS
from tests.support.databases import rows_of
from tests.support.examples import examples_of_help, matches
from tests.support.hosting import C_EXAMPLES, compile_wasm
from tests.support.processes import environment, run_here


async def test_bots_installed_at_one_referee_play_only_there() -> None:
    with bot_file() as path:
        offers = ("--owner", "ada", "--seats", "2", "--offers", f"here=py:{path}:Hasty")
        async with running_cluster(servers=1, referees=1) as cluster:
            await cluster.start_referee(*offers)
            cluster.start_bots(["amy"])
            await cluster.wait_until_online(["amy", "here"])
            [nodes] = (example for example in examples_of_help() if example.section == "noughts nodes")
            assert matches(
                nodes.output,
                (await asyncio.to_thread(run_here, ["nodes", "--db", cluster.url], environment())).output,
            )
            await cluster.organise("timed", ["amy", "here"], games_per_pair=40, time={"move_us": 10_000_000})
            await cluster.organise("quick", ["amy", "here"], games_per_pair=400)
            for slug in ("timed", "quick"):
                await cluster.wait_until_finished(slug)
                assert cluster.endings(slug).keys() <= ON_THE_BOARD
            await cluster.check_records("timed", "quick")
            plain, offering = cluster.referees
            assert "units_claimed" not in cluster.log(plain)
            assert "units_claimed" in cluster.log(offering)
            assert rows_of(cluster.database, "SELECT count(*) FROM units WHERE holder IS NOT NULL") == [(0,)]


async def test_margins_of_tournaments_and_of_offered_bots_hold_in_a_cluster() -> None:
    engine = f"gomocup:{shlex.join([sys.executable, str(PROGRAMS / 'odd_engine.py')])}"
    with bot_file() as path:
        own = engine.replace("gomocup:", "gomocup{margin=2500ms}:")
        offers = ("--offers", f"plain=py:{path}:Hasty", "--offers", f"usual={engine}", "--offers", f"own={own}")
        async with running_cluster(servers=1, referees=0) as cluster:
            await cluster.start_referee("--owner", "ada", "--seats", "2", "--no-lock", *offers)
            cluster.start_bots(["amy"])
            names = ["amy", "plain", "usual", "own"]
            await cluster.wait_until_online(names)
            timed: dict[str, Any] = {"games_per_pair": 2, "time": {"move_us": 10_000_000}, "variant": "mnk:5,5,5"}
            await cluster.organise("own", names, **timed)
            await cluster.organise("same", names, **timed, margin_ms=1_500)
            stub = cluster.stub(games_pb2_grpc.GameServiceStub)
            found = {}
            for slug in ("own", "same"):
                await cluster.wait_until_finished(slug)
                listed = games_pb2.ListGamesRequest(parent=f"tournaments/{slug}")
                games = (await cluster.call(stub.ListGames, listed)).games
                sides = [(game.first, game.first_allowance.margin_us) for game in games]
                sides += [(game.second, game.second_allowance.margin_us) for game in games]
                found[slug] = dict(sides)
                assert len(set(sides)) == len(names)
    assert found["own"] == {"amy": 50_000, "plain": 50_000, "usual": 1_000_000, "own": 2_500_000}
    assert found["same"] == dict.fromkeys(names, 1_500_000)


@pytest.mark.at_length
async def test_submitted_bots_play_on_each_referee_that_accepts_them(tmp_path: Path) -> None:
    module = compile_wasm(C_EXAMPLES / "random.c", tmp_path, "random-c")
    async with running_cluster(servers=1, referees=1) as cluster:
        for _ in range(2):
            await cluster.start_referee("--accept", "wasm")
        plain, accepting, lost = cluster.referees
        server = cluster.addresses[str(cluster.servers[0].output)]
        for name in ("one", "two"):
            words = ["bot", "submit", str(module), "--name", name, "--server", server]
            await asyncio.to_thread(run_here, words, environment(NOUGHTS_TOKEN=cluster.tokens["ada"]))
        await cluster.wait_until_online(["one", "two"])
        for slug in ("undisturbed", "disturbed"):
            await cluster.organise(slug, ["one", "two"], games_per_pair=3_000, variant="mnk:5,5,4")
            if slug == "disturbed":
                await cluster.wait_for_more_games()
                lost.kill()
            await cluster.wait_until_finished(slug)
            assert cluster.endings(slug).keys() <= ON_THE_BOARD
        await cluster.check_records("undisturbed", "disturbed")
        one, other = (cluster.moves(slug) for slug in ("undisturbed", "disturbed"))
        assert one == other
        for event in ("units_claimed", "bot_online"):
            assert all(event in cluster.log(referee) for referee in (accepting, lost)), cluster.logs()
        assert "bot_online" not in cluster.log(plain) + cluster.log(cluster.servers[0])
        assert rows_of(cluster.database, "SELECT count(*) FROM units WHERE holder IS NOT NULL") == [(0,)]


_NEEDS_NUMPY = """
import numpy
from noughts_bots import Bot

class Mine(Bot):
    def choose(self, position):
        return int(numpy.min(position.free))
"""


@pytest.mark.at_length
async def test_referees_without_a_package_do_not_start_its_bots(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(_NEEDS_NUMPY)
    packages = ("--accept", "py", "--python-packages", "numpy")
    async with running_cluster(servers=0, referees=0) as cluster:
        server = await cluster.start_server(*packages)
        await cluster.start_referee("--accept", "py", "--absence", "4s")
        for name in ("one", "two"):
            address = ("--server", cluster.addresses[str(server.output)])
            words = ["bot", "submit", str(tmp_path / "mine.py"), "--name", name, *address]
            await asyncio.to_thread(run_here, words, environment(NOUGHTS_TOKEN=cluster.tokens["ada"]))
        await cluster.wait_until_online(["one", "two"])
        reason = ""
        for attempt in range(10):  # a busy referee may not have read the programs when the wait for the bots is over
            await cluster.organise(f"alone{attempt}", ["one", "two"])
            alone = await cluster.wait_until_finished(f"alone{attempt}")
            reason = next(row.withdraw_reason for row in alone.standings if row.withdraw_reason)
            if "a referee does not accept it" in reason:
                break
        assert "a referee does not accept it: import: got 'numpy at bot.py:2'" in reason, cluster.logs()
        cluster.referees[0].kill()
        for options in (("--accept", "py"), packages):
            await cluster.start_referee(*options)
        await cluster.organise("shared", ["one", "two"], games_per_pair=2_000)
        await cluster.wait_until_finished("shared")
        assert cluster.endings("shared").keys() <= ON_THE_BOARD
