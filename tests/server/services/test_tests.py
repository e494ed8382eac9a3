"""Tests of one bot version against another: the queue, and the tournaments that play them."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from noughts_bots import Bot
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_proto.v1 import bots_pb2, tests_pb2, tournaments_pb2, types_pb2
from noughts_referee.clock import TimeControl
from noughts_referee.rules import Position
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.limits import Limits
from noughts_server.services.new_tournaments import check_guest_clocks
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.people.webhooks import get_webhook
from noughts_server.store.tournaments.tournaments import cancel_tournament
from tests.support.arena import NOW
from tests.support.client import Client, Refusal, bearer, client_of, refusal_of
from tests.support.patience import PATIENCE

FINISHED = tournaments_pb2.TOURNAMENT_STATE_FINISHED
PAUSED = tournaments_pb2.TOURNAMENT_STATE_PAUSED
RUNNING = tournaments_pb2.TOURNAMENT_STATE_RUNNING
# These hypotheses lie so far apart that a few pairs of games between equal bots decide the test.
EASY: dict[str, Any] = {
    "sprt": "elo0=-200,elo1=-100,alpha=0.2,beta=0.2",
    "variant": "mnk:4,4,3",
    "seed": 11,
    "concurrency": 4,
}


class Slow(Bot):
    """A bot that thinks `seconds` about each move, of one game at a time."""

    def __init__(self, seconds: float = 0.01) -> None:
        self._seconds, self._thinking = seconds, asyncio.Lock()

    async def choose(self, position: Position) -> int:
        async with self._thinking:
            await asyncio.sleep(self._seconds)
        return position.free[0]


async def open_to_tests(client: Client, token: str, name: str) -> None:
    request = bots_pb2.RegisterBotRequest(name=f"bots/{name}", open_to_tests=True)
    await client.bots.RegisterBot(request, metadata=bearer(token))


async def register_versions(client: Client, name: str, *names: str, owner: str = "alice") -> None:
    def make(connection: Connection) -> None:
        for version in names:
            log_in(connection, owner_id=create_owner(connection, owner), name=name, version=version, now_ms=NOW)

    await client.server.store.write(make)


async def create_test(
    client: Client, token: str, new: str = "ada", base: str = "bob", *, name: str = "", request_id: str = "", **of: Any
) -> tests_pb2.Test:
    tournament = tournaments_pb2.Tournament(**of)
    test = tests_pb2.Test(name=name, new_version=f"bots/{new}", base_version=f"bots/{base}", tournament=tournament)
    request = tests_pb2.CreateTestRequest(test=test, request_id=request_id)
    return (await client.tests.CreateTest(request, metadata=bearer(token))).test


async def get_test(client: Client, name: str) -> tests_pb2.Test:
    return (await client.tests.GetTest(tests_pb2.GetTestRequest(name=name))).test


async def stop_test(client: Client, token: str, name: str) -> tests_pb2.Test:
    return (await client.tests.StopTest(tests_pb2.StopTestRequest(name=name), metadata=bearer(token))).test


async def resume_test(client: Client, token: str, name: str) -> tests_pb2.Test:
    return (await client.tests.ResumeTest(tests_pb2.ResumeTestRequest(name=name), metadata=bearer(token))).test


async def wait_for_test(client: Client, name: str, condition: Callable[[tests_pb2.Test], bool]) -> tests_pb2.Test:
    """Wait until the condition holds for the test, and return it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            test = await get_test(client, name)
            if condition(test):
                return test
            await asyncio.sleep(0.02)


async def queued_tests(client: Client, **fields: Any) -> list[str]:
    """The IDs of all tests in the order of the queue, from pages of two."""
    names, token = [], ""
    while True:
        request = tests_pb2.ListTestsRequest(page_size=2, page_token=token, **fields)
        page = await client.tests.ListTests(request)
        names += [test.name.removeprefix("tests/") for test in page.tests]
        token = page.next_page_token
        if not token:
            return names


async def test_test_starts_at_once_and_ends_with_its_decision(client: Client) -> None:
    token = await client.token()
    webhook = await client.webhook("http://127.0.0.1:1/")
    await register_versions(client, "ada", "1")
    await register_versions(client, "bob", "1")
    created = await create_test(client, token, name="tests/duel", **EASY)
    assert (created.name, created.new_version, created.base_version) == (
        "tests/duel",
        "bots/ada/versions/1",
        "bots/bob/versions/1",
    )
    assert (created.tournament.name, created.tournament.state) == ("tournaments/duel", RUNNING)
    assert list(created.tournament.offline) == ["ada", "bob"]
    async with client.online(token, "ada", "bob"):
        finished = await wait_for_test(client, created.name, lambda test: test.tournament.state == FINISHED)
    assert finished.tournament.match.sprt.decision == "H1"
    assert list(finished.tournament.match.labels) == ["ada", "bob"]
    assert (finished.tournament.test, finished.tournament.rated, finished.tournament.seed) == (True, False, 11)
    assert finished.tournament.title == "ada@1 against bob@1"
    assert await client.slugs() == []
    (listed,) = (await client.tests.ListTests(tests_pb2.ListTestsRequest())).tests
    assert listed.tournament.match == finished.tournament.match
    assert (listed.new_version, listed.base_version) == (created.new_version, created.base_version)
    # tournament.started, match.decided and tournament.finished
    assert (await client.server.store.read(lambda connection: get_webhook(connection, webhook.id))).waiting == 3


async def test_newest_versions_are_tested_with_the_usual_settings(client: Client) -> None:
    token = await client.token()
    await register_versions(client, "ada", "1", "2.0-beta", "3")
    created = await create_test(client, token, base="ada/versions/2.0-beta")
    assert (created.name, created.new_version) == ("tests/ada-3-vs-ada-2-0-beta", "bots/ada/versions/3")
    settings = created.tournament
    assert (settings.sprt, settings.games_per_pair, settings.variant) == ("elo0=0,elo1=5", 100_000, "tictactoe")
    assert (settings.priority, settings.throughput) == (0, 100)
    assert (settings.openings.kind, settings.openings.plies, settings.concurrency) == ("random", 4, 0)
    assert settings.schedule == tournaments_pb2.SCHEDULE_MATCH
    assert sorted(row.label for row in settings.standings) == ["ada-2.0-beta", "ada-3"]
    other = await create_test(client, token, base="ada/versions/2.0-beta", games_per_pair=10, variant="gomoku+swap2")
    assert (other.name, other.tournament.sprt) == ("tests/ada-3-vs-ada-2-0-beta-2", "")
    assert (other.tournament.games_total, other.tournament.openings.kind) == (10, "")
    plain = await create_test(client, token, base="ada/versions/1", openings=tournaments_pb2.Openings(kind="none"))
    assert plain.tournament.openings.kind == ""


async def test_chosen_ids_are_bounded_and_labels_differ_from_bots_of_others(client: Client) -> None:
    token = await client.token()
    long = "A" * 63
    await register_versions(client, long, "1", "2")
    await register_versions(client, f"{long[2:]}-2", "1", owner="bob")
    made = await create_test(client, token, long, f"{long}/versions/1")
    assert made.name == f"tests/{'a' * 23}-2-vs-{'a' * 23}-1"
    assert sorted(row.label for row in made.tournament.standings) == [f"{long[2:]}-1", long]


async def test_repeated_request_returns_the_same_test(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob")
    one, other = [await create_test(client, token, request_id="r1") for _ in range(2)]
    assert one.name == other.name
    assert await queued_tests(client) == ["ada-1-vs-bob-1"]


async def test_queue_has_running_tests_first_and_pages(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob")
    for number in range(5):
        await create_test(client, token, name=f"tests/t{number}", title=f"Number {number}")
    for number in (1, 3):
        assert (await stop_test(client, token, f"tests/t{number}")).tournament.state == PAUSED
    assert await queued_tests(client) == ["t0", "t2", "t4", "t3", "t1"]
    assert await queued_tests(client, state=PAUSED) == ["t3", "t1"]
    assert await queued_tests(client, search="number 2") == ["t2"]
    assert await queued_tests(client, owner="bob") == []
    assert (await resume_test(client, token, "tests/t1")).tournament.state == RUNNING
    assert await queued_tests(client) == ["t0", "t1", "t2", "t4", "t3"]
    bad = tests_pb2.ListTestsRequest(page_token="x")
    assert (await refusal_of(client.tests.ListTests(bad))).fields() == ["page_token"]


async def test_tests_that_have_ended_are_sorted_by_their_end(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob")
    for name in ("long", "stopped", "quick", "playing", "quicker"):
        await create_test(client, token, name=f"tests/{name}")
    await stop_test(client, token, "tests/stopped")
    for delay, name in enumerate(("quicker", "quick", "long")):
        await client.server.store.write(partial(cancel_tournament, slug=name, now_ms=NOW + delay))
    assert await queued_tests(client) == ["playing", "stopped", "long", "quick", "quicker"]


async def test_queue_is_sorted_by_priority(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob")
    for name, priority in (("low", 0), ("high", 20), ("middle", 3), ("also-low", 0), ("stopped", 99)):
        made = await create_test(client, token, name=f"tests/{name}", priority=priority, throughput=50)
        assert (made.tournament.priority, made.tournament.throughput) == (priority, 50)
    await stop_test(client, token, "tests/stopped")
    assert await queued_tests(client) == ["high", "middle", "low", "also-low", "stopped"]


async def test_only_the_priority_of_an_admin_counts_among_all_owners(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    admin = await client.token("bob", "admin")
    await client.register("ada", "amy")
    await client.register("bea", "ben", owner="bob")
    await create_test(client, alice, "ada", "amy", name="tests/first")
    await create_test(client, alice, "ada", "amy", name="tests/top", priority=1_000)
    await create_test(client, bob, "bea", "ben", name="tests/theirs", priority=2)
    await create_test(client, admin, "bea", "ben", name="tests/urgent", priority=1)
    assert await queued_tests(client) == ["urgent", "top", "first", "theirs"]


async def test_stopped_test_plays_no_game_until_it_is_resumed(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        created = await create_test(
            client, token, name="tests/cup", games_per_pair=400, variant="mnk:4,4,3", concurrency=2
        )
        await wait_for_test(client, created.name, lambda test: test.tournament.games_done > 0)
        await stop_test(client, token, created.name)
        played_games = await client.at_rest()
        assert 0 < played_games < 400
        await resume_test(client, token, created.name)
        finished = await wait_for_test(client, created.name, lambda test: test.tournament.state == FINISHED)
    assert finished.tournament.games_done == 400
    refusal = await refusal_of(stop_test(client, token, created.name))
    assert (refusal.reason, refusal.info.metadata["got"]) == ("WRONG_STATE", "finished")


async def test_slow_bots_get_few_games_at_once(client: Client) -> None:
    token = await client.token()
    # With 1,024 concurrent games, no game would end for half a minute.
    async with client.online(token, "ada", "bob", bot=Slow()):
        created = await create_test(client, token)
        running = client.server.referee.count_running
        running_test = await wait_for_test(
            client, created.name, lambda test: running() <= 8 and test.tournament.games_done >= 8
        )
    assert running_test.tournament.concurrency == 0


async def test_quick_bots_get_many_games_at_once(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        made = await create_test(client, token)
        await wait_for_test(client, made.name, lambda test: client.server.referee.count_running() > 16)


async def test_test_that_stops_now_waits_for_no_game(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob", bot=Slow(seconds=3_600)):
        made = await create_test(client, token)
        await wait_for_test(client, made.name, lambda test: client.server.referee.count_running() == 2)
        request = tests_pb2.StopTestRequest(name=made.name, now=True)
        stopped = (await client.tests.StopTest(request, metadata=bearer(token))).test
        assert (stopped.tournament.state, client.server.referee.count_running()) == (PAUSED, 0)
        await resume_test(client, token, made.name)
        await wait_for_test(client, made.name, lambda test: client.server.referee.count_running() == 2)


async def test_openings_suffice_for_the_games_of_the_variant(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob")
    plies = {}
    for variant, games in (("connect4", 0), ("connect4", 20), ("gomoku", 0), ("tictactoe", 100)):
        made = await create_test(client, token, variant=variant, games_per_pair=games, sprt="elo0=0,elo1=5")
        plies[variant, games] = made.tournament.openings.plies
        assert made.tournament.match_details.advice == ""
    assert plies == {("connect4", 0): 8, ("connect4", 20): 2, ("gomoku", 0): 2, ("tictactoe", 100): 2}


async def test_too_few_openings_are_reported_when_the_test_is_created(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob")
    two_plies = tournaments_pb2.Openings(kind="random", plies=2)
    advice_for_few = (
        await create_test(client, token, variant="connect4", openings=two_plies)
    ).tournament.match_details.advice
    assert "The openings random:2 are about 49 different ones, for up to 50,000 pairs." in advice_for_few
    assert advice_for_few.endswith("Fix: --openings random:8 in a new test.")
    no_openings = tournaments_pb2.Openings(kind="none")
    advice_without_openings = (
        await create_test(client, token, variant="connect4", openings=no_openings)
    ).tournament.match_details.advice
    assert advice_without_openings.startswith("Without openings there is only one start")
    advice_for_small_board = (await create_test(client, token)).tournament.match_details.advice
    assert advice_for_small_board.endswith(
        "Fix: test in a variant with a larger board, or with bots that choose moves at random."
    )


async def test_test_without_further_games_says_what_to_change(client: Client) -> None:
    token = await client.token()
    two = tournaments_pb2.Openings(kind="random", plies=2)
    async with client.online(token, "ada", "bob", bot=make_bot(parse_spec("minimax:depth=1"))):
        created = await create_test(client, token, variant="connect4", openings=two)
        finished = await wait_for_test(client, created.name, lambda test: test.tournament.state == FINISHED)
    tournament = finished.tournament
    games = f"{tournament.match.repeats} of {tournament.match.games} repeat others"
    fix = "--openings random:8 in a new test"
    assert tournament.reason == f"the test ran out of different games: {games}. Fix: {fix}"
    assert tournament.match_details.advice.endswith(f"Fix: {fix}.")


async def test_undecided_test_that_played_all_its_games_says_so(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        created = await create_test(client, token, variant="mnk:4,4,3", games_per_pair=4, sprt="elo0=0,elo1=1")
        finished = await wait_for_test(client, created.name, lambda test: test.tournament.state == FINISHED)
    assert finished.tournament.reason.startswith("all 4 games are over without a decision. Fix: more games")


async def test_bot_of_another_owner_is_a_base_only_if_it_is_open_to_tests(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(bot_challenges=1)) as client:
        alice, bob = await client.token("alice"), await client.token("bob")
        await client.register("ada")
        await register_versions(client, "bob", "1", owner="bob")

        async def refusal_of_test(new: str = "ada", base: str = "bob") -> Refusal:
            return await refusal_of(create_test(client, alice, new, base))

        assert (await refusal_of_test()).info.metadata["got"] == "offline"
        async with asyncio.TaskGroup() as tasks:
            online = asyncio.Event()
            shy = play(Random(), Login(client.server.address, bob, "shy"), lambda _: online.set())
            playing = tasks.create_task(shy)
            await online.wait()
            assert (await refusal_of_test(base="shy")).info.metadata["got"] == "closed to tests of others"
            assert (await refusal_of_test("shy", "ada")).code == grpc.StatusCode.PERMISSION_DENIED
            assert (await create_test(client, bob, "bob", "shy")).name == "tests/bob-1-vs-shy-1"
            playing.cancel()
        async with client.online(bob, "bob"):
            await open_to_tests(client, bob, "bob")
            hour = types_pb2.TimeControl(move_us=3_600_000_000)
            refusal = await refusal_of(create_test(client, alice, time=hour))
            assert refusal.fields() == ["tournament.time.move_us"]
            created = await create_test(client, alice)
            assert created.base_version == "bots/bob/versions/1"
            assert (await refusal_of_test()).reason == "LIMIT_REACHED"
            await stop_test(client, alice, created.name)
            assert (await refusal_of_test()).reason == "LIMIT_REACHED"
            await client.server.store.write(partial(cancel_tournament, slug="ada-1-vs-bob-1", now_ms=NOW))
            assert (await create_test(client, alice)).name == f"{created.name}-2"


async def test_test_against_a_bot_that_was_closed_to_tests_does_not_resume(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    async with client.online(alice, "ada"), client.online(bob, "bob"):
        await open_to_tests(client, bob, "bob")
        made = await create_test(client, alice)
        await stop_test(client, alice, made.name)
        closed = bots_pb2.RegisterBotRequest(name="bots/bob", open_to_tests=False)
        await client.bots.RegisterBot(closed, metadata=bearer(bob))
        assert (await refusal_of(resume_test(client, alice, made.name))).info.metadata[
            "got"
        ] == "closed to tests of others"
        start = client.start(alice, made.name.removeprefix("tests/"))
        assert (await refusal_of(start)).info.metadata["got"] == "closed to tests of others"
        await open_to_tests(client, bob, "bob")
        assert (await resume_test(client, alice, made.name)).tournament.state == RUNNING


@pytest.mark.parametrize(
    "settings, field",
    [
        (TournamentSettings(time=TimeControl(move_us=61_000_000)), "tournament.time.move_us"),
        (TournamentSettings(time=TimeControl(bank_us=1, increment_us=61_000_000)), "tournament.time.increment_us"),
        (TournamentSettings(time=TimeControl(bank_us=3_601_000_000)), "tournament.time.bank_us"),
        (TournamentSettings(own_times={"bob": TimeControl(move_us=61_000_000)}), "tournament.own_times.bob.move_us"),
        (TournamentSettings(margin_ms=60_001), "tournament.margin_ms"),
    ],
)
def test_no_time_of_a_guest_is_longer_than_its_limit(settings: TournamentSettings, field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_guest_clocks(settings, Limits())
    assert caught.value.subject == field


async def test_impossible_tests_are_refused(client: Client) -> None:
    token, play_only = await client.token(), await client.token("alice", "play")
    await client.register("ada", "bob")
    await client.create(token, "cup")
    refusals = {
        "same": await refusal_of(create_test(client, token, base="ada")),
        "sprt": await refusal_of(create_test(client, token, sprt="elo0=5")),
        "name": await refusal_of(create_test(client, token, name="tests/No way")),
        "collection": await refusal_of(create_test(client, token, name="tournaments/x")),
        "taken": await refusal_of(create_test(client, token, name="tests/cup")),
        "version": await refusal_of(create_test(client, token, base="bob/versions/7")),
        "scope": await refusal_of(create_test(client, play_only)),
        "other play": await refusal_of(create_test(client, await client.token("alice", "organise", "play:bob"))),
        "missing": await refusal_of(get_test(client, "tests/missing")),
        "not a test": await refusal_of(stop_test(client, token, "tests/cup")),
    }
    assert {name: refusal.reason for name, refusal in refusals.items()} == {
        "same": "INVALID_ARGUMENT",
        "sprt": "INVALID_ARGUMENT",
        "name": "INVALID_ARGUMENT",
        "collection": "INVALID_ARGUMENT",
        "taken": "ALREADY_EXISTS",
        "version": "NOT_FOUND",
        "scope": "SCOPE_MISSING",
        "other play": "SCOPE_MISSING",
        "missing": "NOT_FOUND",
        "not a test": "NOT_FOUND",
    }
    assert refusals["name"].fields() == ["test.name"]
    assert refusals["not a test"].info.metadata["subject"] == "tests/cup"
    assert await queued_tests(client) == []


async def test_open_tests_count_as_tournaments_of_their_owner(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(tournaments=2)) as client:
        token = await client.token()
        await client.register("ada", "bob")
        await client.create(token)
        await create_test(client, token)
        refusal = await refusal_of(create_test(client, token))
        assert (refusal.reason, refusal.info.metadata["got"]) == ("LIMIT_REACHED", "3")


async def test_absent_bot_stops_the_test_instead_of_losing_it(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", inactivity_timeout=1.0) as client:
        token = await client.token()
        await client.register("bob")
        async with client.online(token, "ada"):
            created = await create_test(client, token)
            stopped = await wait_for_test(client, created.name, lambda test: test.tournament.state == PAUSED)
            assert stopped.tournament.reason == "bob was away for 1 s while its games waited"
            assert stopped.tournament.games_done == 0
            assert (await resume_test(client, token, created.name)).tournament.reason == ""


async def test_silent_bot_in_a_test_stops_no_tournament_of_its_opponent(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    minute_per_move = types_pb2.TimeControl(move_us=60_000_000)
    async with client.online(alice, "ada", bot=Slow(seconds=3_600)), client.online(bob, "bob", "ben"):
        await open_to_tests(client, bob, "bob")
        created = await create_test(client, alice, time=minute_per_move, games_per_pair=2, variant="mnk:4,4,3")
        await wait_for_test(client, created.name, lambda test: client.server.referee.count_running() == 1)
        await client.create(bob, games_per_pair=20, variant="mnk:4,4,3", time=minute_per_move)
        for name in ("bob", "ben"):
            await client.join(bob, name)
        await client.start(bob)
        finished = await client.until(lambda cup: cup.state == FINISHED)
        assert (finished.games_done, [row.faults for row in finished.standings]) == (20, [0, 0])
        # The game that was displaced is played again.
        await wait_for_test(client, created.name, lambda test: client.server.referee.count_running() == 1)
