"""A cluster as its organisers and authors use it: a request to one server holds at the others, too."""

import asyncio
import json
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc.aio
import psutil
import pytest

from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import (
    challenges_pb2,
    challenges_pb2_grpc,
    games_pb2,
    games_pb2_grpc,
    registration_pb2,
    registration_pb2_grpc,
    status_pb2,
    status_pb2_grpc,
    tournaments_pb2,
    tournaments_pb2_grpc,
)
from noughts_proto.v1.tournaments_pb2 import (
    TOURNAMENT_STATE_CANCELLED,
    TOURNAMENT_STATE_FINISHED,
    TOURNAMENT_STATE_PAUSED,
    TOURNAMENT_STATE_RUNNING,
)
from noughts_proto.v1.types_pb2 import Seek, TimeControl
from noughts_referee.rules import ON_THE_BOARD, Termination
from noughts_server.core.proof_of_work import solve
from tests.cluster.cluster import Cluster, running_cluster
from tests.cluster.disruptions import watch_tournament
from tests.cluster.run import bot_file
from tests.support.checking_bot import Checking
from tests.support.children.field import PROGRAMS
from tests.support.client import bearer, refusal_of
from tests.support.databases import change, rows_of
from tests.support.examples import examples_of_help, matches
from tests.support.hosting import C_EXAMPLES, compile_wasm
from tests.support.patience import PATIENCE
from tests.support.processes import environment, first_line, run_here, run_noughts, started


class OrganiserClient:
    """The organiser's client of one server."""

    def __init__(self, cluster: Cluster, channel: grpc.aio.Channel) -> None:
        self.tournaments: Any = tournaments_pb2_grpc.TournamentServiceStub(channel)
        self.challenges: Any = challenges_pb2_grpc.ChallengeServiceStub(channel)
        self.status: Any = status_pb2_grpc.StatusServiceStub(channel)
        self._token = bearer(cluster.tokens["ada"])

    async def ask(self, method: str, slug: str, **fields: Any) -> tournaments_pb2.Tournament:
        """Call the method `{method}Tournament` about this tournament."""
        request = getattr(tournaments_pb2, f"{method}TournamentRequest")(name=f"tournaments/{slug}", **fields)
        answer = await getattr(self.tournaments, f"{method}Tournament")(request, metadata=self._token, timeout=20)
        return answer.tournament if hasattr(answer, "tournament") else tournaments_pb2.Tournament()

    async def challenge(self, **fields: Any) -> str:
        """Create a challenge, and return the ID of its tournament."""
        request = challenges_pb2.CreateChallengeRequest(**fields)
        answer = await self.challenges.CreateChallenge(request, metadata=self._token, timeout=20)
        name: str = answer.tournament.name
        return name.removeprefix("tournaments/")


@asynccontextmanager
async def clients_of_servers(cluster: Cluster) -> AsyncIterator[list[OrganiserClient]]:
    """Clients of the organiser, one for each server."""
    addresses = [cluster.addresses[str(server.output)] for server in cluster.servers]
    channels = [grpc.aio.insecure_channel(address) for address in addresses]
    try:
        yield [OrganiserClient(cluster, channel) for channel in channels]
    finally:
        for channel in channels:
            await channel.close()


async def test_a_request_to_one_server_holds_at_all_servers() -> None:
    names = ["amy", "ben", "cora", "dan"]
    async with running_cluster(referees=2) as cluster, clients_of_servers(cluster) as (here, there):
        first, second = cluster.servers
        cluster.start_bots(names[:2], address=cluster.addresses[str(first.output)])
        cluster.start_bots(names[2:], address=cluster.addresses[str(second.output)])
        await cluster.wait_until_online(names)
        challenged = await here.challenge(challenger="bots/amy", opponent="bots/dan", games=4)
        await cluster.wait_until_finished(challenged)
        await cluster.organise("league", names, games_per_pair=600, rated=True, variant="mnk:7,7,5")
        await cluster.organise("other", names, games_per_pair=2_000)
        async with watch_tournament(cluster, "league", range(1, 3_600, 300)) as observers:
            assert (await there.ask("Cancel", "other")).state == TOURNAMENT_STATE_CANCELLED
            assert (await here.ask("Pause", "league")).state == TOURNAMENT_STATE_PAUSED
            rest = await _at_rest(cluster)
            assert (await there.ask("Start", "league")).state == TOURNAMENT_STATE_RUNNING
            await there.ask("Withdraw", "league", label="dan")
            league = await cluster.wait_until_finished("league")
            assert league.games_done == 3_600 > rest
            assert (await here.ask("Get", "other")).state == TOURNAMENT_STATE_CANCELLED
            await _all_over(observers)
        assert [gap for observer in observers for gap in observer.gaps] == []
        assert sum(observer.plies for observer in observers)
        seen = [observer.view.tournaments for observer in observers if observer.name == "tournaments/league"]
        assert [view["tournaments/league"].games_done for view in seen] == [3_600, 3_600]
        await cluster.check_records("league", challenged)
        # Both have played.
        assert len(_referees_that_played(cluster)) == 2


async def test_a_game_is_analysed_once_and_shown_by_both_servers() -> None:
    names = ["amy", "ben"]
    async with running_cluster(referees=1) as cluster, AsyncExitStack() as stack:
        cluster.start_bots(names)
        await cluster.wait_until_online(names)
        await cluster.organise("cup", names, games_per_pair=2)
        await cluster.wait_until_finished("cup")
        request = games_pb2.GetAnalysisRequest(name="tournaments/cup/games/1")
        processes: set[int] = set()
        answers = []
        for server in cluster.servers:
            channel = grpc.aio.insecure_channel(cluster.addresses[str(server.output)])
            games: Any = games_pb2_grpc.GameServiceStub(await stack.enter_async_context(channel))
            answers.append(_analysis(games, request, lambda: processes.update(_analysing(cluster))))
        first_analysis, second_analysis = await asyncio.gather(*answers)
        assert len(first_analysis.values) > 2
        assert first_analysis == second_analysis
        assert len(processes) <= 1, "more than one process has analysed the game"


async def _analysis(
    games: Any, request: games_pb2.GetAnalysisRequest, look: Callable[[], object]
) -> games_pb2.GetAnalysisResponse:
    """Request the analysis until there is one. Call `look` between the requests."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer: games_pb2.GetAnalysisResponse = await games.GetAnalysis(request, timeout=20)
            if answer.state == games_pb2.ANALYSIS_STATE_DONE:
                return answer
            assert answer.state == games_pb2.ANALYSIS_STATE_PENDING, answer.reason
            look()
            await asyncio.sleep(0.02)


def _analysing(cluster: Cluster) -> Iterator[int]:
    """Yield the process IDs of the analyses of all servers."""
    for server in cluster.servers:
        for child in psutil.Process(server.pid).children():
            with suppress(psutil.Error):
                if "noughts_server.runtime.analysis_process" in child.cmdline():
                    yield child.pid


async def _at_rest(cluster: Cluster) -> int:
    """Return the number of stored games once a paused tournament is no longer played."""
    stored, since = -1, time.monotonic()
    while time.monotonic() - since < 0.5:  # other processes tell nobody
        if cluster.stored() != stored:
            stored, since = cluster.stored(), time.monotonic()
        await asyncio.sleep(0.05)
    return stored


async def _all_over(observers: list[Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if all(observer.over for observer in observers):
                return
            await asyncio.sleep(0.05)


def _referees_that_played(cluster: Cluster) -> set[str]:
    """Return the names of the referees that have claimed units, by their logs."""
    return {referee.output.name for referee in cluster.referees if "units_claimed" in cluster.log(referee)}


async def test_an_absent_bot_loses_only_its_own_games() -> None:
    async with running_cluster(servers=1, referees=1, options=("--grace", "0.5", "--absence", "1s")) as cluster:
        leaving = cluster.start_bots(["amy"], "Unhurried")
        cluster.start_bots(["ben", "cora"])
        await cluster.wait_until_online(["amy", "ben", "cora"])
        await cluster.organise("league", ["amy", "ben", "cora"], games_per_pair=200, time={"bank_us": 60_000_000})
        await asyncio.sleep(0.5)
        leaving.kill()
        cluster.servers[0].kill()
        await cluster.start_server()
        await cluster.wait_until_finished("league")
        endings = cluster.endings("league")
        assert endings[Termination.DISCONNECTED]
        assert endings[Termination.ADJUDICATED], "it was not withdrawn"
        assert endings.keys() <= {*ON_THE_BOARD, Termination.DISCONNECTED, Termination.ADJUDICATED}
        await cluster.check_records("league")


async def test_referees_end_games_by_scores_and_by_proofs() -> None:
    async with running_cluster(servers=1, referees=2) as cluster:
        cluster.start_bots(["amy"], "Resigned")
        cluster.start_bots(["ben"])
        await cluster.wait_until_online(["amy", "ben"])
        await cluster.organise("proven", ["amy", "ben"], games_per_pair=8, variant="mnk:4,3,3", adjudicate="exact")
        await cluster.organise(
            "scored", ["amy", "ben"], games_per_pair=8, variant="gomoku", resign="moves=2,score=600", adjudicate="exact"
        )
        for slug in ("proven", "scored"):
            await cluster.wait_until_finished(slug)
            assert cluster.endings(slug) == {Termination.ADJUDICATED: 8}
        lost = {row.label: row.losses for row in (await cluster.tournament("scored")).standings}
        assert lost == {"amy": 8, "ben": 0}
        await cluster.check_records("proven", "scored")


async def test_pause_now_ends_games_of_bots_that_do_not_answer() -> None:
    attempts = "SELECT coalesce(max(attempt), 0) FROM units"
    async with running_cluster(servers=2, referees=1) as cluster, clients_of_servers(cluster) as (here, there):
        cluster.start_bots(["amy", "ben"], "Silent")
        await cluster.wait_until_online(["amy", "ben"])
        await cluster.organise("cup", ["amy", "ben"])
        for attempt in (1, 2, 3):
            async with asyncio.timeout(PATIENCE):
                while rows_of(cluster.database, attempts)[0][0] < attempt:  # noqa: ASYNC110  # others tell nobody
                    await asyncio.sleep(0.05)
            assert (await here.ask("Pause", "cup", now=True)).state == TOURNAMENT_STATE_PAUSED
            assert (await there.ask("Start", "cup")).state == TOURNAMENT_STATE_RUNNING
        async with asyncio.timeout(PATIENCE):
            while not (await here.status.GetStatus(status_pb2.GetStatusRequest())).games_in_flight:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        # The end of the block stops the bots first: the referee must not wait until they have lost these games.


async def test_a_match_is_decided_at_the_same_pair_by_any_number_of_referees() -> None:
    names = ["amy", "ben"]
    test = {"schedule": tournaments_pb2.SCHEDULE_MATCH, "sprt": "elo0=-60,elo1=0", "games_per_pair": 20_000, "seed": 3}
    async with running_cluster(servers=1, referees=3) as cluster:
        cluster.start_bots(names)
        await cluster.wait_until_online(names)
        await cluster.organise("many", names, variant="mnk:5,5,4", concurrency=96, **test)
        while cluster.stored() < 50:  # noqa: ASYNC110  # other processes tell nobody
            await asyncio.sleep(0.05)
        cluster.referees[0].kill()
        many = await cluster.wait_until_finished("many")
        cluster.referees[1].kill()
        await cluster.organise("few", names, variant="mnk:5,5,4", concurrency=2, **test)
        few = await cluster.wait_until_finished("few")
        assert many.match == few.match
        assert many.games_done == many.games_total == few.games_done == few.games_total < 20_000
        assert few.match.sprt.decision in ("H0", "H1")
        games = "SELECT ordinal, first_entry, result, moves FROM games WHERE tournament_id = {} ORDER BY 1"
        first, second = (rows_of(cluster.database, games.format(key)) for key in (1, 2))
        assert first == second
        await cluster.check_records("many", "few")


@pytest.mark.timeout(300)
async def test_two_servers_and_two_referees_share_by_throughput() -> None:
    pairs = {"more": ("amy", "ben"), "less": ("cora", "dan")}
    throughputs = {"more": 75, "less": 25}
    async with running_cluster(referees=2) as cluster:
        for pair in pairs.values():
            cluster.start_bots(pair)
        await cluster.wait_until_online(["amy", "ben", "cora", "dan"])
        for slug, pair in pairs.items():
            match = {"schedule": tournaments_pb2.SCHEDULE_MATCH, "games_per_pair": 200_000, "rated": False}
            await cluster.organise(slug, pair, throughput=throughputs[slug], concurrency=64, **match)

        async def stored(enough: int) -> list[int]:
            deadline = time.monotonic() + 120
            while True:
                games = [(await cluster.tournament(slug)).games_done for slug in pairs]
                if sum(games) >= enough and min(games):
                    return games
                assert time.monotonic() < deadline, cluster.logs()
                await asyncio.sleep(0.05)

        before = await stored(1)
        after = await stored(sum(before) + 4_000)
        more, less = (now - then for now, then in zip(after, before, strict=True))
        assert abs(more / (more + less) - 0.75) < 0.1  # on a busy machine a bot is not always ready when its turn comes
        assert len(_referees_that_played(cluster)) == 2
        async with clients_of_servers(cluster) as (here, there):
            await here.ask("Cancel", "more")
            alone = sum(await stored(1))
            await stored(alone + 500)
            await there.ask("Cancel", "less")


async def test_a_scheduled_tournament_starts_although_its_server_has_gone() -> None:
    async with running_cluster(referees=1) as cluster:
        cluster.start_bots(["amy", "ben"])
        await cluster.wait_until_online(["amy", "ben"])
        stub = cluster.stub(tournaments_pb2_grpc.TournamentServiceStub)
        wanted = tournaments_pb2.Tournament(name="tournaments/later", games_per_pair=20)
        wanted.start_at.FromDatetime(datetime.now(UTC) + timedelta(seconds=1.5))
        await cluster.call(stub.CreateTournament, tournaments_pb2.CreateTournamentRequest(tournament=wanted))
        for bot in ("amy", "ben"):
            entry = tournaments_pb2.JoinTournamentRequest(name=wanted.name, bot=f"bots/{bot}")
            await cluster.call(stub.JoinTournament, entry)
        # The oldest server does the work of which there must be only one, such as scheduled starts.
        cluster.servers.pop(0).kill()
        began = time.monotonic()
        assert (await cluster.wait_until_finished("later")).state == TOURNAMENT_STATE_FINISHED
        assert time.monotonic() - began < 12


async def test_a_proof_of_work_counts_at_all_servers_and_only_once() -> None:
    async with running_cluster(servers=0, referees=0) as cluster, AsyncExitStack() as stack:
        stubs = []
        for _ in range(2):
            server = await cluster.start_server("--registration", "open", "--set-limit", "proof_bits=8")
            channel = grpc.aio.insecure_channel(cluster.addresses[str(server.output)])
            stubs.append(registration_pb2_grpc.RegistrationServiceStub(await stack.enter_async_context(channel)))
        here, there = stubs
        offer = await here.GetRegistration(registration_pb2.GetRegistrationRequest())
        proof = registration_pb2.ProofOfWork(challenge=offer.challenge, solution=solve(offer.challenge, offer.bits))
        refused = registration_pb2.RegisterRequest(name="admin", proof=proof)
        assert "not reserved" in str((await refusal_of(there.Register(refused))).status.message)
        answer = await there.Register(registration_pb2.RegisterRequest(name="grace", proof=proof))
        assert answer.token.owner == "grace"
        for server_stub in (here, there):
            again = server_stub.Register(registration_pb2.RegisterRequest(name="edsger", proof=proof))
            assert "not been solved" in (await refusal_of(again)).status.message


async def test_bots_at_two_servers_that_seek_games_play_each_other() -> None:
    seek = Seek(variant="tictactoe", time=TimeControl(move_us=5_000_000))
    async with running_cluster(referees=1) as cluster, asyncio.TaskGroup() as tasks:
        await cluster.make_tokens("eve")
        playing = [
            tasks.create_task(
                play(Random(), Login(cluster.addresses[str(server.output)], cluster.tokens[owner], owner, seek=seek))
            )
            for server, owner in zip(cluster.servers, ("ada", "eve"), strict=True)
        ]
        async with asyncio.timeout(PATIENCE):
            finished = "SELECT slug FROM tournaments WHERE slug LIKE 'seek-%' AND state = 4 AND games_done = 2"
            while not rows_of(cluster.database, finished):  # noqa: ASYNC110  # other processes play
                await asyncio.sleep(0.05)
        for task in playing:
            task.cancel()


async def test_a_newcomer_to_a_ladder_plays_at_once_next_to_absent_entries() -> None:
    absent = [f"away{number}" for number in range(10)]
    async with running_cluster(referees=2) as cluster, clients_of_servers(cluster) as (here, there):
        gone = cluster.start_bots(absent)
        cluster.start_bots(["amy"], address=cluster.addresses[str(cluster.servers[0].output)])
        await cluster.wait_until_online([*absent, "amy"])
        gone.kill()
        schedule = tournaments_pb2.SCHEDULE_LADDER
        time = {"move_us": 1_000_000}
        await cluster.organise("ladder", [*absent, "amy"], schedule=schedule, time=time, concurrency=2)
        cluster.start_bots(["zoe"], address=cluster.addresses[str(cluster.servers[1].output)])
        await cluster.wait_until_online(["zoe"])
        await there.ask("Join", "ladder", bot="bots/zoe")
        async with asyncio.timeout(PATIENCE):
            while (ladder := await here.ask("Get", "ladder")).games_done < 20:  # noqa: ASYNC110  # other processes play
                await asyncio.sleep(0.05)
        assert {row.label for row in ladder.standings if row.points} == {"amy", "zoe"}
        assert not [row.label for row in ladder.standings if row.HasField("withdraw_time")]
        await cluster.cancel("ladder")


async def test_seasons_follow_though_the_server_that_opened_the_last_one_is_gone() -> None:
    async with running_cluster(referees=1) as cluster:
        cluster.start_bots(["amy", "ben"])
        await cluster.wait_until_online(["amy", "ben"])
        await cluster.organise("cup", ["amy", "ben"], repeat=tournaments_pb2.REPEAT_WEEKLY)
        change(cluster.database, "UPDATE leagues SET interval_ms = 2000")
        async with asyncio.timeout(PATIENCE):
            for number in (2, 3, 4):
                finished = f"SELECT count(*) FROM tournaments WHERE slug = 'cup-{number}' AND state = 4"
                while not rows_of(cluster.database, finished)[0][0]:  # noqa: ASYNC110  # others play
                    await asyncio.sleep(0.05)
                if number == 2:
                    cluster.servers.pop(0).kill()
        starts = "SELECT started_at FROM tournaments WHERE slug LIKE 'cup%' ORDER BY id LIMIT 4"
        moments = [moment for (moment,) in rows_of(cluster.database, starts)]
        assert moments == sorted(moments)
        assert moments[3] - moments[0] >= 6_000


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


async def test_submitted_bots_play_on_each_referee_that_accepts_them(
    tmp_path: Path,
) -> None:
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
                await _wait_for_more_games(cluster)
                lost.kill()
            await cluster.wait_until_finished(slug)
            assert cluster.endings(slug).keys() <= ON_THE_BOARD
        await cluster.check_records("undisturbed", "disturbed")
        one, other = (rows_of(cluster.database, _PLAYED.format(slug)) for slug in ("undisturbed", "disturbed"))
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


_PLAYED = "SELECT ordinal, moves FROM games JOIN tournaments ON id = tournament_id WHERE slug = '{}' ORDER BY ordinal"


async def test_every_part_is_replaced_while_it_plays_and_no_game_is_broken_off() -> None:
    names = ["amy", "ben", "cora", "dan"]
    async with running_cluster(referees=2) as cluster:
        cluster.start_bots(names[:2], "Unhurried")
        cluster.start_bots(names[2:], "Unhurried")
        await cluster.wait_until_online(names)
        await cluster.organise("league", names, games_per_pair=100, time={"move_us": 20_000_000})
        await _wait_for_more_games(cluster)
        for members, start in ((cluster.servers, cluster.start_server), (cluster.referees, cluster.start_referee)):
            for old in tuple(members):
                await start()
                assert await asyncio.to_thread(old.stop) == 0, cluster.log(old)
                members.remove(old)
                await _wait_for_more_games(cluster)
        assert (await cluster.tournament("league")).state == TOURNAMENT_STATE_RUNNING
        await cluster.wait_until_finished("league")
        assert cluster.endings("league").keys() <= ON_THE_BOARD
        await cluster.check_records("league")


async def _wait_for_more_games(cluster: Cluster) -> None:
    """Wait until games are stored again."""
    before = cluster.stored()
    async with asyncio.timeout(PATIENCE):
        while True:
            if cluster.stored() > before:
                return
            await asyncio.sleep(0.05)


async def test_the_end_of_a_server_costs_its_bots_no_time() -> None:
    async with running_cluster(servers=1, referees=1) as cluster:
        cluster.start_bots(["amy", "ben"], "Unhurried")
        await cluster.wait_until_online(["amy", "ben"])
        await cluster.organise("league", ["amy", "ben"], games_per_pair=100, time={"bank_us": 1_500_000})
        await _wait_for_more_games(cluster)
        cluster.servers.pop().kill()
        await asyncio.sleep(2)
        await cluster.start_server()
        await cluster.wait_until_finished("league")
        # It was away for longer than their clocks had left, so its bot gets the open question again.
        assert cluster.endings("league").keys() <= ON_THE_BOARD


async def test_all_clients_use_the_next_address_after_a_kill() -> None:
    async with running_cluster(referees=1) as cluster:
        addresses = ",".join(cluster.addresses[str(server.output)] for server in cluster.servers)
        variables = environment(NOUGHTS_SERVER=addresses, NOUGHTS_TOKEN=cluster.tokens["ada"])
        with started(["web", "--listen", "127.0.0.1:0", "--format", "json"], variables) as web:
            site = json.loads(await asyncio.to_thread(first_line, web))["web"]
            cluster.start_bots(["amy", "ben"], "Unhurried", address=addresses)
            await cluster.wait_until_online(["amy", "ben"])
            await cluster.organise("league", ["amy", "ben"], games_per_pair=300, time={"move_us": 20_000_000})
            await _wait_for_more_games(cluster)
            assert await asyncio.to_thread(_page, f"{site}/api/v1/tournaments/league")
            cluster.servers.pop(0).kill()
            await _wait_for_more_games(cluster)
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


async def test_bot_that_asks_learns_ends_after_the_commit_of_the_referee() -> None:
    async with running_cluster(servers=1, referees=1) as cluster:
        bot, news = Checking(cluster.database), asyncio.Queue[SessionEvent]()
        login = Login(cluster.addresses[str(cluster.servers[0].output)], cluster.tokens["ada"], "amy")
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(play(bot, login, news.put_nowait))
            cluster.start_bots(["ben"])
            await cluster.wait_until_online(["amy", "ben"])
            await cluster.organise("cup", ["amy", "ben"], games_per_pair=40)
            await cluster.wait_until_finished("cup")
            while len(bot.ended) < 40:  # noqa: ASYNC110  # the bot tells nobody
                await asyncio.sleep(0.05)
            playing.cancel()
        assert (len(set(bot.ended)), bot.missing) == (40, [])


async def test_status_of_each_server_lists_the_bots_of_all_servers() -> None:
    names = ["amy", "ben", "cid"]
    async with running_cluster(servers=2, referees=1) as cluster:
        cluster.start_bots(names)
        await cluster.wait_until_online(names)
        async with clients_of_servers(cluster) as servers, asyncio.timeout(PATIENCE):
            for server in servers:
                found: list[str] = []
                while found != [f"bots/{name}/versions/1" for name in names]:
                    answer = await server.status.GetStatus(status_pb2.GetStatusRequest())
                    found = sorted(bot.bot_version for bot in answer.bots)
                assert answer.bots_online == len(names)
