"""The gRPC services, called over the network at a real server."""

import asyncio
import resource
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import PreconditionFailure, RetryInfo
from grpc_health.v1 import health, health_pb2_grpc

from noughts_proto.transport import PROTOCOL, TOKEN_KEY
from noughts_proto.v1 import (
    bots_pb2,
    games_pb2,
    leaderboards_pb2,
    play_pb2,
    tournaments_pb2,
)
from noughts_referee.rules import commitment
from noughts_server.errors import Draining
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.games.notes import GameNote, add_notes
from noughts_server.store.people.tokens import create_owner, create_token, revoke_token
from tests.support.arena import open_arena
from tests.support.client import (
    Client,
    Metadata,
    bearing,
    client_of,
    creation,
    hello,
    refused,
)

if TYPE_CHECKING:
    pass

SERVICES = (
    "noughts.v1.PlayService",
    "noughts.v1.BotService",
    "noughts.v1.TournamentService",
    "noughts.v1.GameService",
    "noughts.v1.LeaderboardService",
    "noughts.v1.TokenService",
    "noughts.v1.ChallengeService",
    "noughts.v1.StatusService",
    "noughts.v1.FeedService",
)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server on a fresh database."""
    async with client_of(tmp_path / "x.sqlite") as opened:
        yield opened


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server with a history: seven bots, seven tournaments, two of them with games."""
    async with open_arena(tmp_path / "x.sqlite") as arena:
        bots = [f"bot-{number}" for number in range(7)]
        for slug in ("cup", "plate"):
            tournament = await arena.tournament(slug, bots=bots)
            await arena.commit(await arena.play(tournament))
        for number in range(5):
            await arena.tournament(f"open-{number}", start=False, bots=())
    async with client_of(tmp_path / "x.sqlite") as opened:
        yield opened


# Health.


async def test_health_says_serving_of_every_service_until_the_server_drains(client: Client) -> None:
    for service in ("", *SERVICES):
        assert await client.serving(service) == "SERVING", service
    await client.server.drain()
    for service in ("", *SERVICES):
        assert await client.serving(service) == "NOT_SERVING", service


async def test_a_health_method_without_an_answer_is_unimplemented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health.aio.HealthServicer, "Check", health_pb2_grpc.HealthServicer.Check)
    async with client_of(tmp_path / "x.sqlite") as other:
        refusal = await refused(other.serving(""))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNIMPLEMENTED, "UNKNOWN_METHOD")


async def test_draining_twice_does_no_harm(client: Client) -> None:
    await client.server.drain()
    await client.server.drain()
    assert await client.serving("") == "NOT_SERVING"


# Letting bots in.


@pytest.mark.parametrize("streams", [False, True])
async def test_a_method_that_does_not_exist_is_refused_like_any_other_wrong_call(client: Client, streams: bool) -> None:
    async with grpc.aio.insecure_channel(client.server.address) as channel:
        if streams:
            call: Any = channel.stream_stream("/noughts.v1.PlayService/Win")()
            refusal = await refused(call.read())
        else:
            win: Any = channel.unary_unary("/noughts.v2.LuckService/Win")
            refusal = await refused(win(b""))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNIMPLEMENTED, "UNKNOWN_METHOD")
    assert refusal.info.metadata["got"].endswith("Service/Win")


async def test_a_bot_is_welcomed_under_its_name_and_version(client: Client) -> None:
    answer = await client.first_frame(hello(version="2"), bearing(await client.token()))
    assert (answer.frame, answer.welcome.protocol) == (0, PROTOCOL)
    assert (answer.welcome.bot, answer.welcome.version) == ("bots/ada", "bots/ada/versions/2")
    bot = (await client.bots.GetBot(bots_pb2.GetBotRequest(name="bots/ada"))).bot
    assert (bot.owner, bot.latest_version) == ("alice", "bots/ada/versions/2")


async def test_another_protocol_is_refused_with_those_that_are_spoken(client: Client) -> None:
    token = await client.token()
    for protocol in (0, 2, 4_000_000_000):
        refusal = await refused(client.first_frame(hello(protocol=protocol), bearing(token)))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "PROTOCOL_UNSUPPORTED")
        assert (refusal.info.metadata["minimum"], refusal.info.metadata["maximum"]) == ("1", "1")


async def test_a_stream_that_does_not_begin_with_hello_is_refused(client: Client) -> None:
    token = await client.token()
    for first in (play_pb2.PlayRequest(done_through=1), play_pb2.PlayRequest(), None):
        refusal = await refused(client.first_frame(first, bearing(token)))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
        assert refusal.fields() == ["hello"]


async def test_a_bot_of_another_owner_is_not_let_in(client: Client) -> None:
    await client.register("ada", owner="alice")
    refusal = await refused(client.first_frame(hello(), bearing(await client.token("bob"))))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")


# Who is calling.


@pytest.mark.parametrize(
    "metadata",
    [(), bearing(""), bearing("nou_unknown"), ((TOKEN_KEY, "Basic YTpi"),), (("x-token", "nou_unknown"),)],
    ids=["no token", "empty token", "unknown token", "another scheme", "another key"],
)
async def test_callers_without_a_known_token_are_unauthenticated(client: Client, metadata: Metadata) -> None:
    calls: Sequence[Awaitable[object]] = (
        client.tournaments.CreateTournament(creation("cup"), metadata=metadata),
        client.first_frame(hello(), metadata),
    )
    for call in calls:
        refusal = await refused(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
    assert await client.slugs() == []


async def test_a_revoked_token_is_worth_nothing_from_then_on(client: Client) -> None:
    now = client.server.store.now_ms()
    made = await client.server.store.write(partial(create_token, owner="alice", now_ms=now))
    await client.create(made.secret, "before")
    await client.server.store.write(partial(revoke_token, token_id=made.token.id, now_ms=now))
    calls: Sequence[Awaitable[object]] = (
        client.create(made.secret, "after"),
        client.first_frame(hello(), bearing(made.secret)),
    )
    for call in calls:
        refusal = await refused(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")
        assert made.secret not in refusal.trailing
    assert await client.slugs() == ["before"]


async def test_every_method_that_changes_something_wants_a_token(client: Client) -> None:
    await client.register("ada")
    await client.create(await client.token())
    stub, name = client.tournaments, "tournaments/cup"
    calls: Sequence[Awaitable[object]] = (
        stub.CreateTournament(creation("plate")),
        stub.JoinTournament(tournaments_pb2.JoinTournamentRequest(name=name, bot="bots/ada")),
        stub.WithdrawTournament(tournaments_pb2.WithdrawTournamentRequest(name=name, label="ada")),
        stub.StartTournament(tournaments_pb2.StartTournamentRequest(name=name)),
        stub.PauseTournament(tournaments_pb2.PauseTournamentRequest(name=name)),
        stub.CancelTournament(tournaments_pb2.CancelTournamentRequest(name=name)),
    )
    for call in calls:
        assert (await refused(call)).code is grpc.StatusCode.UNAUTHENTICATED


async def test_the_tournament_of_another_owner_can_be_neither_started_nor_paused_nor_cancelled(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    await client.register("ada", "bert")
    await client.create(alice)
    for bot in ("ada", "bert"):
        await client.join(alice, bot)
    for change in (client.start, client.pause, client.cancel):
        refusal = await refused(change(bob))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
        assert refusal.info.metadata["subject"] == "tournaments/cup"
    assert (await client.get()).state == tournaments_pb2.TOURNAMENT_STATE_OPEN


async def test_the_bot_of_another_owner_cannot_be_entered(client: Client) -> None:
    await client.register("ada", owner="alice")
    bob = await client.token("bob")
    await client.create(bob)
    assert (await refused(client.join(bob, "ada"))).code is grpc.StatusCode.PERMISSION_DENIED
    assert not (await client.get()).standings


# Requests that come again.


async def test_creating_twice_under_one_request_id_creates_once_and_answers_the_same(client: Client) -> None:
    token = await client.token()
    first = await client.create(token, request_id="r1")
    assert await client.create(token, request_id="r1") == first
    assert len(first.seed_hash) == 64
    assert await client.slugs() == ["cup"]


async def test_creating_at_the_same_time_under_one_request_id_creates_once(client: Client) -> None:
    token = await client.token()
    answers = await asyncio.gather(*(client.create(token, request_id="r1") for _ in range(20)))
    assert all(answer == answers[0] for answer in answers)
    assert await client.slugs() == ["cup"]


async def test_another_request_under_a_used_request_id_is_a_conflict(client: Client) -> None:
    token = await client.token()
    await client.register("ada")
    await client.create(token, request_id="r1")
    join = tournaments_pb2.JoinTournamentRequest(name="tournaments/cup", bot="bots/ada", request_id="r1")
    calls: Sequence[Awaitable[object]] = (
        client.create(token, "plate", "r1"),
        client.create(token, "cup", "r1", title="Cup"),
        client.tournaments.JoinTournament(join, metadata=bearing(token)),
    )
    for call in calls:
        refusal = await refused(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_CONFLICT")
    assert await client.slugs() == ["cup"]


async def test_another_token_may_use_the_same_request_id_even_of_the_same_owner(client: Client) -> None:
    for place, owner in enumerate(("alice", "alice", "bob")):
        await client.create(await client.token(owner), f"cup-{place}", "r1")
    assert await client.slugs() == ["cup-2", "cup-1", "cup-0"]


async def test_without_a_request_id_a_second_creation_finds_the_name_taken(client: Client) -> None:
    token = await client.token()
    await client.create(token)
    refusal = await refused(client.create(token))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "ALREADY_EXISTS")


async def test_a_request_that_failed_may_be_tried_again_under_its_request_id(client: Client) -> None:
    token = await client.token()
    assert (await refused(client.create(token, request_id="r1", variant="chess"))).fields() == ["tournament.variant"]
    assert (await client.create(token, request_id="r1")).name == "tournaments/cup"


async def test_joining_twice_under_one_request_id_enters_once_and_answers_the_same(client: Client) -> None:
    token, other = await client.token(), await client.token()
    await client.register("ada", "bert")
    await client.create(token)

    async def join(bot: str, by: str = token) -> tournaments_pb2.JoinTournamentResponse:
        request = tournaments_pb2.JoinTournamentRequest(name="tournaments/cup", bot=f"bots/{bot}", request_id="r1")
        return await client.tournaments.JoinTournament(request, metadata=bearing(by))

    first = await join("ada")
    assert (first.label, first.bot_version) == ("ada", "bots/ada/versions/1")
    assert await join("ada") == first
    assert (await refused(join("bert"))).reason == "REQUEST_CONFLICT"
    assert (await join("bert", other)).label == "bert"
    assert [row.label for row in (await client.get()).standings] == ["ada", "bert"]
    await client.start(token)
    # The answer to a lost answer is the same also when the tournament has gone on meanwhile.
    assert await join("ada") == first


# Pages.


class Listing(NamedTuple):
    """A page of some list: its items in words that can be compared, and the next page's token."""

    items: list[str]
    next_page_token: str


Lister = Callable[[Client, int, str], Awaitable[Listing]]


async def tournaments_page(client: Client, size: int, token: str) -> Listing:
    request = tournaments_pb2.ListTournamentsRequest(page_size=size, page_token=token)
    answer = await client.tournaments.ListTournaments(request)
    return Listing(list(map(str, answer.tournaments)), answer.next_page_token)


async def bots_page(client: Client, size: int, token: str) -> Listing:
    answer = await client.bots.ListBots(bots_pb2.ListBotsRequest(page_size=size, page_token=token))
    return Listing(list(map(str, answer.bots)), answer.next_page_token)


async def games_page(client: Client, size: int, token: str, slug: str = "cup") -> Listing:
    request = games_pb2.ListGamesRequest(parent=f"tournaments/{slug}", page_size=size, page_token=token)
    answer = await client.games.ListGames(request)
    return Listing(list(map(str, answer.games)), answer.next_page_token)


async def leaderboard_page(client: Client, size: int, token: str) -> Listing:
    request = leaderboards_pb2.GetLeaderboardRequest(page_size=size, page_token=token)
    answer = await client.leaderboards.GetLeaderboard(request)
    return Listing(list(map(str, answer.rows)), answer.next_page_token)


LISTERS: Sequence[Lister] = (tournaments_page, bots_page, games_page, leaderboard_page)


@pytest.mark.parametrize("lister", LISTERS)
async def test_pages_of_any_size_join_up_to_the_whole_list_without_repeats(visitor: Client, lister: Lister) -> None:
    whole = await lister(visitor, 1000, "")
    assert len(whole.items) >= 7
    assert len(set(whole.items)) == len(whole.items)
    assert not whole.next_page_token
    for size in (1, 3, len(whole.items)):
        joined: list[str] = []
        token = ""
        while True:
            page = await lister(visitor, size, token)
            assert 0 < len(page.items) <= size
            joined += page.items
            token = page.next_page_token
            if not token:
                break
        assert joined == whole.items


async def test_a_page_token_of_another_list_is_refused(visitor: Client) -> None:
    others: Sequence[Lister] = (*LISTERS, partial(games_page, slug="plate"))
    tokens = [(other, (await other(visitor, 1, "")).next_page_token) for other in others]
    for lister in LISTERS:
        for other, token in tokens:
            if other is not lister:
                refusal = await refused(lister(visitor, 3, token))
                assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
                assert refusal.fields() == ["page_token"]


async def test_a_torn_page_token_is_refused(visitor: Client) -> None:
    for lister in LISTERS:
        token = (await lister(visitor, 1, "")).next_page_token
        for torn in (token[:-1], token + "x", "Ä", " ", "x" * 100_000):
            assert (await refused(lister(visitor, 1, torn))).fields() == ["page_token"]


async def test_a_negative_page_size_is_refused(visitor: Client) -> None:
    for lister in LISTERS:
        refusal = await refused(lister(visitor, -1, ""))
        assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.fields() == ["page_size"]


async def test_the_token_of_one_leaderboard_does_not_page_another(visitor: Client) -> None:
    token = (await leaderboard_page(visitor, 1, "")).next_page_token
    request = leaderboards_pb2.GetLeaderboardRequest(time_class="blitz", page_token=token)
    assert (await refused(visitor.leaderboards.GetLeaderboard(request))).fields() == ["page_token"]


# Other refusals.


async def test_a_tournament_in_the_wrong_state_says_which_state_was_needed(client: Client) -> None:
    token = await client.token()
    await client.create(token)
    for change in (client.pause, client.start):  # it is open; it has no entries
        refusal = await refused(change(token))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
        (failure,) = refusal.details
        assert isinstance(failure, PreconditionFailure)
        assert [(each.type, each.subject) for each in failure.violations] == [("STATE", "tournaments/cup")]
        assert refusal.info.metadata["got"].startswith("open")
        assert refusal.info.metadata["expected"]


async def test_a_cancelled_tournament_cannot_be_started_again(client: Client) -> None:
    token = await client.token()
    await client.create(token)
    assert (await client.cancel(token)).state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
    assert (await client.cancel(token)).state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
    assert (await refused(client.start(token))).reason == "WRONG_STATE"


async def test_what_does_not_exist_is_not_found_and_named(client: Client) -> None:
    calls: dict[str, Awaitable[object]] = {
        "tournaments/none": client.get("none"),
        "bots/none": client.bots.GetBot(bots_pb2.GetBotRequest(name="bots/none")),
        "tournaments/none/games/1": client.games.GetGame(games_pb2.GetGameRequest(name="tournaments/none/games/1")),
    }
    for name, call in calls.items():
        refusal = await refused(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")
        assert name.startswith(refusal.info.metadata["subject"])


async def test_what_a_process_wrote_is_told_to_owner_and_organiser_only(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        tournament = await arena.tournament("cup", bots=("ada", "bob"))
        await arena.commit(await arena.play(tournament))
        notes = [GameNote(tournament.id, 1, side, f"of side {side}") for side in (0, 1)]
        await arena.store.write(lambda connection: add_notes(connection, notes))
    async with client_of(tmp_path / "x.sqlite") as client:
        organiser, others = await client.token("alice"), await client.token("bob")
        [second] = (
            await client.games.ListGames(games_pb2.ListGamesRequest(parent="tournaments/cup", page_size=1))
        ).games
        bot = second.second_bot.split("/")[1]

        def hand_over(connection: Any) -> None:
            owner = create_owner(connection, "carol")
            connection.exec_driver_sql("UPDATE bots SET owner_id = ? WHERE name = ?", (owner, bot))

        await client.server.store.write(hand_over)
        told = {
            None: [],
            others: [],
            await client.token("carol"): ["of side 1"],
            organiser: ["of side 0", "of side 1"],
            await client.token("root", "admin"): ["of side 0", "of side 1"],
        }
        for token, texts in told.items():
            request = games_pb2.GetGameRequest(name="tournaments/cup/games/1")
            answer = await client.games.GetGame(request, metadata=bearing(token) if token else ())
            assert [note.text for note in answer.notes] == texts


async def test_a_name_that_is_none_is_refused(client: Client) -> None:
    game = "tournaments/cup/games/"
    for name in ("", "cup", "tournaments/", "x" * 10_000, game, f"{game}-1", f"{game}x", f"{game}1/", f"bots/{game}1"):
        refusal = await refused(client.games.GetGame(games_pb2.GetGameRequest(name=name)))
        assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.fields() == ["name"]


async def test_no_number_of_a_game_however_odd_is_an_internal_error(visitor: Client) -> None:
    for number in ("0", "9" * 18, "9" * 19, str(1 << 63), "1" + "0" * 63, "9" * 5_000, "٣", "²"):
        request = games_pb2.GetGameRequest(name=f"tournaments/cup/games/{number}")
        refusal = await refused(visitor.games.GetGame(request))
        assert refusal.code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT), number


async def test_an_unexpected_error_is_internal_and_tells_nothing_of_ours(visitor: Client) -> None:
    # Somebody's hand in the file: the server cannot know what happened.
    with closing(sqlite3.connect(visitor.database)) as connection, connection:
        connection.execute("ALTER TABLE ratings RENAME TO hidden")
    refusal = await refused(leaderboard_page(visitor, 0, ""))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert not refusal.details
    assert not refusal.info.metadata
    for secret in ("rating", "sql", "select", "table", "traceback", str(visitor.database.parent).lower()):
        assert secret not in refusal.trailing.lower()
    # It is the only call that suffers.
    assert len((await bots_page(visitor, 0, "")).items) == 7


async def test_a_database_that_is_closed_already_sends_callers_away_for_a_while(client: Client) -> None:
    await client.server.store.close()
    refusal = await refused(client.get())
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
    (retry,) = refusal.details
    assert isinstance(retry, RetryInfo)
    assert retry.retry_delay.ToMilliseconds() > 0


# Creating.


async def test_output_only_fields_of_a_new_tournament_are_ignored(client: Client) -> None:
    created = await client.create(
        await client.token(),
        state=tournaments_pb2.TOURNAMENT_STATE_FINISHED,
        games_total=7,
        games_done=5,
        standings=[tournaments_pb2.Standing(label="ada", wins=3)],
        offline=["ada"],
        rating_list="chess/bullet",
        create_time={"seconds": 1},
        start_time={"seconds": 2},
        end_time={"seconds": 3},
    )
    assert created.state == tournaments_pb2.TOURNAMENT_STATE_OPEN
    assert (created.games_total, created.games_done) == (0, 0)
    assert not created.standings
    assert not created.offline
    assert created.rating_list == "tictactoe/untimed"
    assert created.create_time.seconds > 1_600_000_000
    assert not created.HasField("start_time")
    assert not created.HasField("end_time")
    assert await client.get() == created


async def test_fields_that_are_left_out_have_the_defaults_of_the_protocol(client: Client) -> None:
    token = await client.token()
    created = await client.create(token)
    assert (created.variant, created.games_per_pair, created.concurrency) == ("tictactoe", 2, 1024)
    assert (created.schedule, created.rated) == (tournaments_pb2.SCHEDULE_ROUND_ROBIN, True)
    zero = await client.create(token, "zero", seed=0, rated=False)
    assert (zero.seed_hash, zero.rated, zero.rating_list) == (commitment(0), False, "")
    assert (await client.create(token, "most", seed=(1 << 64) - 1)).seed_hash == commitment((1 << 64) - 1)


async def test_a_seed_is_told_when_the_tournament_has_ended_and_as_it_was_committed_to(client: Client) -> None:
    token = await client.token()
    drawn = await client.create(token, "drawn")
    given = await client.create(token, "given", seed=7)
    assert (drawn.seed_given, given.seed_given) == (False, True)
    for slug in ("drawn", "given"):
        listed = await client.tournaments.ListTournaments(tournaments_pb2.ListTournamentsRequest())
        shown = [await client.get(slug), *(each for each in listed.tournaments if each.name.endswith(slug))]
        assert [each.HasField("seed") for each in shown] == [False, False]
        await client.cancel(token, slug)
        ended = await client.get(slug)
        assert commitment(ended.seed) == ended.seed_hash
    assert (await client.get("drawn")).seed_hash == drawn.seed_hash
    assert (await client.get("given")).seed == 7


# Whole tournaments.


async def test_a_tournament_of_two_bots_ends_finished_listed_and_rated(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bert"):
        online = await client.bots.ListBots(bots_pb2.ListBotsRequest(online_only=True))
        assert [bot.name for bot in online.bots] == ["bots/ada", "bots/bert"]
        await client.create(token, games_per_pair=20, seed=7)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        started = await client.start(token)
        assert (started.games_total, list(started.offline)) == (20, [])
        finished = await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    assert finished.games_done == 20
    assert finished.HasField("end_time")
    assert await client.game_numbers() == list(range(1, 21))
    table = {row.label: (row.wins, row.draws, row.losses) for row in finished.standings}
    assert [sum(score) for score in table.values()] == [20, 20]
    answer = await client.leaderboards.GetLeaderboard(leaderboards_pb2.GetLeaderboardRequest())
    assert answer.rating_list == "tictactoe/untimed"
    rows = {row.bot.removeprefix("bots/"): (row.wins, row.draws, row.losses) for row in answer.rows}
    assert rows == table
    assert {row.label: row.rating for row in finished.standings} == {
        row.bot.removeprefix("bots/"): row.rating for row in answer.rows
    }
    crosstable = await client.tournaments.GetCrosstable(tournaments_pb2.GetCrosstableRequest(name="tournaments/cup"))
    assert sorted((cell.first, cell.second, cell.wins + cell.draws + cell.losses) for cell in crosstable.cells) == [
        ("ada", "bert", 10),
        ("bert", "ada", 10),
    ]
    game = (await client.games.GetGame(games_pb2.GetGameRequest(name="tournaments/cup/games/20"))).game
    assert 5 <= len(game.moves) == len(game.times_us) <= 9
    assert game.HasField("rating_seq")


async def test_a_started_tournament_names_the_bots_that_are_missing(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bert")
    await client.create(token)
    for bot in ("ada", "bert"):
        await client.join(token, bot)
    assert list((await client.start(token)).offline) == ["ada", "bert"]
    async with client.online(token, "ada", "bert"):
        finished = await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    assert not finished.offline


@pytest.mark.long
async def test_a_tournament_paused_in_the_middle_and_started_again_has_every_game_once(client: Client) -> None:
    token, games = await client.token(), 3_000
    async with client.online(token, "ada", "bert"):
        await client.create(token, games_per_pair=games, concurrency=8, seed=7)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        await client.start(token)
        for done in (1, games // 2):
            await client.until(lambda cup, done=done: cup.games_done >= done)  # type: ignore[misc]
            paused = await client.pause(token)
            assert paused.state == tournaments_pb2.TOURNAMENT_STATE_PAUSED
            assert paused.games_done < games
            # At once, while the last games of the first part are still being played, and again after a while.
            assert (await client.start(token)).state == tournaments_pb2.TOURNAMENT_STATE_RUNNING
            await client.pause(token)
            at_rest = await client.at_rest()
            await asyncio.sleep(0.2)
            assert (await client.get()).games_done == at_rest < games
            await client.start(token)
        finished = await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    assert finished.games_done == games
    assert await client.game_numbers() == list(range(1, games + 1))
    assert [row.wins + row.draws + row.losses for row in finished.standings] == [games, games]
    rows = (await client.leaderboards.GetLeaderboard(leaderboards_pb2.GetLeaderboardRequest())).rows
    assert [row.games for row in rows] == [games, games]


async def test_a_cancelled_tournament_keeps_what_was_played_and_plays_no_more(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bert"):
        await client.create(token, games_per_pair=100_000, concurrency=8)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        await client.start(token)
        await client.until(lambda cup: cup.games_done > 0)
        done = (await client.cancel(token)).games_done
        await asyncio.sleep(0.3)
        cancelled = await client.get()
    assert (cancelled.state, cancelled.games_done) == (tournaments_pb2.TOURNAMENT_STATE_CANCELLED, done)
    numbers = await client.game_numbers()
    assert len(numbers) == len(set(numbers)) == done < 100_000


# Callers that hang up.


async def given_up(client: Client, monkeypatch: pytest.MonkeyPatch, call: Awaitable[object]) -> None:
    """Makes the call and gives it up when it has asked the store to write, which is busy until afterwards."""
    store, asked, free = client.server.store, asyncio.Event(), threading.Event()
    write = store.write

    async def noticed(function: Any) -> Any:
        asked.set()
        return await write(function)

    async def make() -> None:
        await call

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.write(lambda _: free.wait(20)))
        monkeypatch.setattr(store, "write", noticed)
        calling = tasks.create_task(make())
        async with asyncio.timeout(20):
            await asked.wait()
        calling.cancel()
        await asyncio.wait([calling])
        free.set()
        monkeypatch.setattr(store, "write", write)


async def test_a_start_whose_caller_has_hung_up_is_played(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bert"):
        await client.create(token)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        await given_up(client, monkeypatch, client.server.director.start("cup"))
        await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)


async def test_what_a_caller_who_has_hung_up_asked_for_fails_quietly(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await client.token()
    await client.create(token)
    await given_up(client, monkeypatch, client.server.director.start("cup"))
    # Without entries; and the writer is free again when this has been written.
    assert (await client.cancel(token)).state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_a_server_that_goes_down_takes_no_work_and_leaves_none(tmp_path: Path) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async with client_of(tmp_path / "x.sqlite") as client, asyncio.TaskGroup() as tasks:
        director = client.server.director

        async def refused_work() -> None:
            with pytest.raises(Draining):
                await director.uncancelled(never)

        async with director.directing():
            tasks.create_task(refused_work())
            await asyncio.sleep(0)
        await refused_work()


async def test_a_server_has_as_many_files_as_it_may(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if before[1] == resource.RLIM_INFINITY else min(65_536, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        async with running_server(ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'noughts.db'}")):
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
