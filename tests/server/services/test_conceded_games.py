"""Organisers who end rated games of their own bots get no advantage from it."""

import asyncio
from collections.abc import Awaitable

import grpc
import pytest

from noughts_proto.v1 import games_pb2, tournaments_pb2, types_pb2
from tests.server.services.test_tests import Slow
from tests.support.client import Client, bearer, refusal_of
from tests.support.patience import PATIENCE

CANCELLED = tournaments_pb2.TOURNAMENT_STATE_CANCELLED


async def start_game_against_ben(client: Client, alice: str) -> None:
    """Start a tournament of alice with her bot ada and bob's bot ben, and wait until a game runs."""
    await client.create(alice, variant="mnk:4,4,3", games_per_pair=10, concurrency=1)
    await client.join(alice, "ada")
    await client.join(await client.token("bob"), "ben")
    await client.start(alice)
    async with asyncio.timeout(PATIENCE):
        while not client.server.referee.count_running():  # noqa: ASYNC110  # the referee tells nobody
            await asyncio.sleep(0.01)


async def stored_results(client: Client) -> list[tuple[str, int]]:
    """Return (first mover, result) of each stored game."""
    page = await client.games.ListGames(games_pb2.ListGamesRequest(parent="tournaments/cup"))
    return [(game.first, game.result) for game in page.games]


@pytest.mark.parametrize("pauses", [False, True])
async def test_organiser_who_stops_a_running_game_of_its_own_bot_loses_it(client: Client, pauses: bool) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    async with client.online(alice, "ada", bot=Slow(3_600)), client.online(bob, "ben", bot=Slow(3_600)):
        await start_game_against_ben(client, alice)
        if pauses:
            request = tournaments_pb2.PauseTournamentRequest(name="tournaments/cup", now=True)
            await client.tournaments.PauseTournament(request, metadata=bearer(alice))
        else:
            assert (await client.cancel(alice)).state == CANCELLED
        ((first, result),) = await stored_results(client)
        loss_of_ada = types_pb2.RESULT_SECOND_WINS if first == "ada" else types_pb2.RESULT_FIRST_WINS
        assert result == loss_of_ada
        assert client.server.referee.count_running() == 0


async def test_games_that_an_admin_ends_have_no_result(client: Client) -> None:
    alice, admin = await client.token("alice"), await client.token("alice", "admin")
    bob = await client.token("bob")
    async with client.online(alice, "ada", bot=Slow(3_600)), client.online(bob, "ben", bot=Slow(3_600)):
        await start_game_against_ben(client, alice)
        await client.cancel(admin)
        assert await stored_results(client) == []


async def test_organiser_cannot_win_rated_games_by_withdrawing_the_opponent(client: Client) -> None:
    alice, bob, admin = await client.token("alice"), await client.token("bob"), await client.token("alice", "admin")

    def withdraw(token: str) -> Awaitable[object]:
        request = tournaments_pb2.WithdrawTournamentRequest(name="tournaments/cup", label="ben")
        return client.tournaments.WithdrawTournament(request, metadata=bearer(token))

    async with client.online(alice, "ada", bot=Slow(3_600)), client.online(bob, "ben", bot=Slow(3_600)):
        await start_game_against_ben(client, alice)
        refusal = await refusal_of(withdraw(alice))
        assert refusal.code == grpc.StatusCode.PERMISSION_DENIED
        assert "rated wins that nobody played" in refusal.trailing
        assert await stored_results(client) == []
        await withdraw(admin)


async def test_organiser_without_own_bots_withdraws_rated_entries(client: Client) -> None:
    alice, bob, cleo = await client.token("alice"), await client.token("bob"), await client.token("cleo")
    async with client.online(cleo, "cat", bot=Slow(3_600)), client.online(bob, "ben", bot=Slow(3_600)):
        await client.create(alice, variant="mnk:4,4,3", games_per_pair=10, concurrency=1)
        await client.join(cleo, "cat")
        await client.join(bob, "ben")
        await client.start(alice)
        request = tournaments_pb2.WithdrawTournamentRequest(name="tournaments/cup", label="ben")
        await client.tournaments.WithdrawTournament(request, metadata=bearer(alice))
