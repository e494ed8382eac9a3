"""A cluster as its organisers and authors use it: a request to one server holds at the others, too."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

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
from tests.support.checking_bot import Checking
from tests.support.client import refusal_of
from tests.support.databases import change, rows_of
from tests.support.patience import PATIENCE


class OrganiserClient:
    """The organiser's client of one server."""

    def __init__(self, cluster: Cluster, channel: grpc.aio.Channel) -> None:
        self.tournaments: Any = tournaments_pb2_grpc.TournamentServiceStub(channel)
        self.challenges: Any = challenges_pb2_grpc.ChallengeServiceStub(channel)
        self.status: Any = status_pb2_grpc.StatusServiceStub(channel)
        self._cluster = cluster

    async def ask(self, method: str, slug: str, **fields: Any) -> tournaments_pb2.Tournament:
        """Call the method `{method}Tournament` about this tournament."""
        request = getattr(tournaments_pb2, f"{method}TournamentRequest")(name=f"tournaments/{slug}", **fields)
        answer = await self._cluster.call(getattr(self.tournaments, f"{method}Tournament"), request)
        return answer.tournament if hasattr(answer, "tournament") else tournaments_pb2.Tournament()

    async def challenge(self, **fields: Any) -> str:
        """Create a challenge, and return the ID of its tournament."""
        request = challenges_pb2.CreateChallengeRequest(**fields)
        answer = await self._cluster.call(self.challenges.CreateChallenge, request)
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
        await cluster.organise("other", names, games_per_pair=2_000)
        assert (await there.ask("Cancel", "other")).state == TOURNAMENT_STATE_CANCELLED
        await cluster.organise("league", names, games_per_pair=200, rated=True, variant="mnk:7,7,5")
        assert (await here.ask("Pause", "league")).state == TOURNAMENT_STATE_PAUSED
        async with watch_tournament(cluster, "league", range(1, 1_200, 100)) as observers:
            await _wait_until_at_rest(cluster)
            rest = (await here.ask("Get", "league")).games_done
            assert (await there.ask("Start", "league")).state == TOURNAMENT_STATE_RUNNING
            await there.ask("Withdraw", "league", label="dan")
            league = await cluster.wait_until_finished("league")
            assert league.games_done == 1_200 > rest
            assert (await here.ask("Get", "other")).state == TOURNAMENT_STATE_CANCELLED
            await _all_over(observers)
        assert [gap for observer in observers for gap in observer.gaps] == []
        seen = [observer.view.tournaments for observer in observers if observer.name == "tournaments/league"]
        assert [view["tournaments/league"].games_done for view in seen] == [1_200, 1_200]
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


async def _wait_until_at_rest(cluster: Cluster) -> None:
    """Wait until no more games are stored."""
    stored, since = -1, time.monotonic()
    while time.monotonic() - since < 0.5:  # other processes tell nobody
        if cluster.stored() != stored:
            stored, since = cluster.stored(), time.monotonic()
        await asyncio.sleep(0.05)


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
        await cluster.wait_for_more_games()
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


@pytest.mark.at_length
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


@pytest.mark.at_length
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
        wanted.start_at.FromDatetime(datetime.now(UTC) + timedelta(hours=1))
        await cluster.call(stub.CreateTournament, tournaments_pb2.CreateTournamentRequest(tournament=wanted))
        for bot in ("amy", "ben"):
            entry = tournaments_pb2.JoinTournamentRequest(name=wanted.name, bot=f"bots/{bot}")
            await cluster.call(stub.JoinTournament, entry)
        # The oldest server does the work of which there must be only one, such as scheduled starts.
        cluster.servers.pop(0).kill()
        change(cluster.database, "UPDATE tournaments SET start_at = created_at")  # the hour has passed
        assert (await cluster.wait_until_finished("later")).state == TOURNAMENT_STATE_FINISHED


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
        await cluster.create("cup", ["amy", "ben"], repeat=tournaments_pb2.REPEAT_WEEKLY)
        change(cluster.database, "UPDATE leagues SET interval_ms = 2000")
        await cluster.start("cup")
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
