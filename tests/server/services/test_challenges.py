"""Challenges: a few unrated games against an online bot that accepts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from noughts_bots import Bot
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import challenges_pb2, games_pb2, leaderboards_pb2, tournaments_pb2
from noughts_server.core.limits import Limits
from tests.support.client import Client, bearer, client_of, hello, refusal_of
from tests.support.patience import PATIENCE

from .players import Undecided

FINISHED = tournaments_pb2.TOURNAMENT_STATE_FINISHED
CANCELLED = tournaments_pb2.TOURNAMENT_STATE_CANCELLED
INVALID = grpc.StatusCode.INVALID_ARGUMENT
RUNNING = tournaments_pb2.TOURNAMENT_STATE_RUNNING


class Shy(Random):
    """Accepts no challenge."""

    accepts_challenges = False


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server on a fresh database, whose reconnect timeout is half a second."""
    async with client_of(tmp_path / "x.sqlite", reconnect_timeout=0.5) as opened:
        yield opened


@asynccontextmanager
async def logged_in(client: Client, token: str, name: str, bot: Bot, version: str = "1") -> AsyncIterator[None]:
    """A bot that is logged in and plays while the block runs."""
    async with asyncio.TaskGroup() as tasks:
        online = asyncio.Event()
        login = Login(client.server.address, token, name, version)
        task = tasks.create_task(play(bot, login, lambda _: online.set()))
        try:
            await online.wait()
            yield
        finally:
            task.cancel()


async def challenge(
    client: Client, token: str, challenger: str = "ada", opponent: str = "bob", **fields: Any
) -> tournaments_pb2.Tournament:
    request = challenges_pb2.CreateChallengeRequest(
        challenger=f"bots/{challenger}", opponent=f"bots/{opponent}", **fields
    )
    return (await client.challenges.CreateChallenge(request, metadata=bearer(token))).tournament


async def challenge_in_state(client: Client, name: str, state: int) -> tournaments_pb2.Tournament:
    """Wait until the challenge is in this state, and return it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            tournament = await client.get(name.removeprefix("tournaments/"))
            if tournament.state == state:
                return tournament
            await asyncio.sleep(0.02)


async def test_a_challenge_is_played_at_once_unrated_and_left_out_of_lists(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    async with client.online(alice, "ada"), client.online(bob, "bob"):
        created = await challenge(client, alice, games=5, variant="mnk:4,4,3", seed=7)
        assert (created.challenge, created.rated, created.variant, created.seed_given) == (
            True,
            False,
            "mnk:4,4,3",
            True,
        )
        finished = await challenge_in_state(client, created.name, FINISHED)
        assert (created.HasField("seed"), finished.seed) == (False, 7)
    assert (finished.games_done, [row.label for row in sorted(finished.standings, key=str)]) == (5, ["ada", "bob"])
    table = await client.tournaments.GetCrosstable(tournaments_pb2.GetCrosstableRequest(name=created.name))
    games_by_first_mover = {cell.first: cell.wins + cell.draws + cell.losses for cell in table.cells}
    assert games_by_first_mover == {"ada": 3, "bob": 2}
    assert await client.slugs() == []
    listed = await client.tournaments.ListTournaments(tournaments_pb2.ListTournamentsRequest(challenges=True))
    assert [tournament.name for tournament in listed.tournaments] == [created.name]
    board = leaderboards_pb2.GetLeaderboardRequest(variant="mnk:4,4,3")
    assert not (await client.leaderboards.GetLeaderboard(board)).rows


async def test_challenging_twice_under_one_request_id_plays_once(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        one, other = [await challenge(client, token, request_id="r1") for _ in range(2)]
        assert one.name == other.name
        assert (await challenge_in_state(client, one.name, FINISHED)).games_done == 2
        # Also long after its end, when its players have left.
    assert (await challenge(client, token, request_id="r1")).name == one.name


async def test_the_newest_version_that_is_online_plays_unless_one_is_named(client: Client) -> None:
    token = await client.token()
    await client.first_frame(hello(bot="bob", version="3"), bearer(token))  # this version is offline again
    async with (
        client.online(token, "ada"),
        logged_in(client, token, "bob", Random(), "1"),
        logged_in(client, token, "bob", Random(), "2"),
    ):
        for opponent, version in (("bob", "2"), ("bob/versions/1", "1")):
            created = await challenge(client, token, opponent=opponent)
            finished = await challenge_in_state(client, created.name, FINISHED)
            played = {row.bot_version for row in finished.standings}
            assert played == {"bots/ada/versions/1", f"bots/bob/versions/{version}"}
        refusal = await refusal_of(challenge(client, token, opponent="bob/versions/3"))
        assert refusal.info.metadata["subject"] == "bots/bob/versions/3"


async def test_offline_unknown_and_the_own_bot_cannot_be_challenged(client: Client) -> None:
    token = await client.token()
    await client.register("bob")
    async with client.online(token, "ada"):
        refusal = await refusal_of(challenge(client, token))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
        assert (refusal.info.metadata["subject"], refusal.info.metadata["got"]) == ("bots/bob", "offline")
        assert (await refusal_of(challenge(client, token, opponent="nobody"))).reason == "NOT_FOUND"
        assert (await refusal_of(challenge(client, token, opponent="ada"))).fields() == ["opponent"]
    assert (await refusal_of(challenge(client, token, "bob", "ada"))).info.metadata["subject"] == "bots/bob"


async def test_a_challenger_belongs_to_the_caller_and_its_token(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    async with client.online(alice, "ada"), client.online(bob, "bob"):
        assert (await refusal_of(challenge(client, bob))).reason == "PERMISSION_DENIED"
        organiser = await client.token("alice", "organise")
        assert (await refusal_of(challenge(client, organiser))).reason == "SCOPE_MISSING"
        player = await client.token("alice", "play:ada")
        made = await challenge(client, player)
        assert (await challenge_in_state(client, made.name, FINISHED)).games_done == 2


@pytest.mark.parametrize("fields", [{"games": 101}, {"variant": "chess"}])
async def test_more_games_than_allowed_or_an_unknown_variant_are_invalid(client: Client, fields: Any) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        refusal = await refusal_of(challenge(client, token, **fields))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.info.metadata["subject"] == next(iter(fields))


async def test_a_bot_that_declines_challenges_can_still_challenge(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    async with client.online(alice, "ada", "eve"), logged_in(client, bob, "bob", Shy()):
        refusal = await refusal_of(challenge(client, alice))
        assert (refusal.reason, refusal.info.metadata["got"]) == ("WRONG_STATE", "declining challenges")
        made = await challenge(client, bob, "bob", "ada")
        assert (await challenge_in_state(client, made.name, FINISHED)).games_done == 2


async def test_a_bot_that_declines_can_be_challenged_by_its_owners_bots(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada"), logged_in(client, token, "bob", Shy()):
        made = await challenge(client, token)
        assert (await challenge_in_state(client, made.name, FINISHED)).games_done == 2


async def test_opponent_can_move_first_and_the_challenge_have_an_opening(client: Client) -> None:
    token = await client.token()
    openings = tournaments_pb2.Openings(kind="list", text="4 0")
    async with client.online(token, "ada", "bob"):
        made = await challenge(client, token, games=1, opponent_begins=True, openings=openings)
        await challenge_in_state(client, made.name, FINISHED)
    (game,) = (await client.games.ListGames(games_pb2.ListGamesRequest(parent=made.name))).games
    assert (game.first, game.second, list(game.moves[:2]), game.opening_plies) == ("bob", "ada", [4, 0], 2)


async def test_a_challenge_with_an_impossible_opening_is_refused(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        for text in ("4 4", "0 3 1 4 2", "99", "x"):
            openings = tournaments_pb2.Openings(kind="list", text=text)
            assert (await refusal_of(challenge(client, token, openings=openings))).code is INVALID, text


async def test_a_bot_with_many_open_challenges_gets_no_more(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    names = [f"ada-{number}" for number in range(Limits().bot_challenges + 1)]
    async with client.online(alice, *names), logged_in(client, bob, "bob", Undecided()):
        challenges = [await challenge(client, alice, name) for name in names[:-1]]
        refusal = await refusal_of(challenge(client, alice, names[-1]))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
        assert refusal.info.metadata["subject"] == "open challenges of bots/bob"
        # A token that may challenge may also cancel its challenge.
        player = await client.token("alice", "play")
        await client.cancel(player, challenges[0].name.removeprefix("tournaments/"))
        challenges[0] = await challenge(client, alice, names[-1])
        for open_challenge in challenges:
            await client.cancel(player, open_challenge.name.removeprefix("tournaments/"))


async def test_an_owner_with_many_open_challenges_begins_no_more(tmp_path: Path) -> None:
    async with client_of(tmp_path / "y.sqlite", limits=Limits(challenges=1)) as client:
        await check_owner_limit(client)


async def check_owner_limit(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada"), logged_in(client, token, "bob", Undecided()):
        made = await challenge(client, token)
        refusal = await refusal_of(challenge(client, token))
        assert refusal.info.metadata["subject"] == "open challenges of yours"
        # A challenge cannot be paused to make room for another.
        refusal = await refusal_of(client.pause(token, made.name.removeprefix("tournaments/")))
        assert (refusal.reason, refusal.info.metadata["got"]) == ("WRONG_STATE", "a challenge")
        await client.cancel(token, made.name.removeprefix("tournaments/"))


async def test_token_of_a_website_begins_challenges_beyond_the_limit_of_an_owner(tmp_path: Path) -> None:
    async with client_of(tmp_path / "y.sqlite", limits=Limits(challenges=1)) as client:
        token, site = await client.token("shop"), await client.token("shop", "play", "site")
        async with client.online(token, "ada"), logged_in(client, token, "bob", Undecided()):
            challenges = [await challenge(client, site) for _ in range(2)]
            assert (await refusal_of(challenge(client, token))).info.metadata["subject"] == "open challenges of yours"
            for open_challenge in challenges:
                await client.cancel(token, open_challenge.name.removeprefix("tournaments/"))


async def test_a_challenge_of_a_bot_that_has_left_is_cancelled(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada"):
        async with logged_in(client, token, "bob", Undecided()):
            made = await challenge(client, token, games=3, time={"move_us": 60_000_000})
            assert (await challenge_in_state(client, made.name, RUNNING)).challenge
        cancelled = await challenge_in_state(client, made.name, CANCELLED)
    assert cancelled.reason == "a bot went offline and did not reconnect in time"


class TwoVariantsBot(Random):
    """A bot that declares only two variants."""

    variants = ("tictactoe", "mnk:7,6,4")


async def test_a_bot_is_entered_only_in_variants_that_it_plays(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada"), logged_in(client, token, "bob", TwoVariantsBot()):
        refusal = await refusal_of(challenge(client, token, variant="mnk:5,5,4"))
        assert (refusal.code, refusal.fields()) == (grpc.StatusCode.INVALID_ARGUMENT, ["opponent"])
        assert "which plays tictactoe, mnk:7,6,4" in refusal.info.metadata["got"]
        for variant in ("mnk:3,3,3", "mnk:7,6,4"):
            made = await challenge(client, token, variant=variant)
            assert (await challenge_in_state(client, made.name, FINISHED)).games_done == 2
        await client.create(token, "cup", variant="mnk:5,5,4")
        refusal = await refusal_of(client.join(token, "bob"))
        assert refusal.fields() == ["bot"]
        await client.join(token, "ada")
