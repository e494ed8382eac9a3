"""Running tournaments with a throughput share the games of a server, by priority and in proportion."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from noughts_bots import Bot, Position
from noughts_proto.v1 import tournaments_pb2, types_pb2
from tests.support.client import Client
from tests.support.patience import PATIENCE

BOTS = {"one": ("ada", "bob"), "two": ("cyd", "dan")}
CLOCK = types_pb2.TimeControl(bank_us=600_000_000)


@pytest.fixture
async def token(client: Client) -> str:
    token = await client.token()
    await client.register(*BOTS["one"], *BOTS["two"])
    return token


async def create_match(client: Client, token: str, slug: str, **fields: Any) -> None:
    """Create a match of many games between the two bots of this slug, and enter them."""
    usual = {"schedule": tournaments_pb2.SCHEDULE_MATCH, "games_per_pair": 100_000, "concurrency": 32, "rated": False}
    await client.create(token, slug, **{**usual, **fields})
    for bot in BOTS[slug]:
        await client.join(token, bot, slug)


async def start_match(client: Client, token: str, slug: str, **fields: Any) -> None:
    """Create such a match, and start it."""
    await create_match(client, token, slug, **fields)
    await client.start(token, slug)


async def stored_games(client: Client, enough: Callable[[list[int]], bool] = lambda games: True) -> list[int]:
    """Wait until `enough` accepts the numbers of stored games of both matches, and return the numbers."""
    async with asyncio.timeout(PATIENCE):
        while True:
            games = [(await client.get(slug)).games_done for slug in BOTS]
            if enough(games):
                return games
            await asyncio.sleep(0.02)


async def next_games(client: Client, number: int) -> list[int]:
    """Wait until at least `number` more games are stored, and return how many of them are of each match."""
    before = await stored_games(client)
    after = await stored_games(client, lambda games: sum(games) >= sum(before) + number)
    return [now - then for now, then in zip(after, before, strict=True)]


async def wait_for_end(client: Client, slug: str) -> None:
    """Wait until all games of a tournament are stored."""
    tournament = await client.get(slug)
    while tournament.state != tournaments_pb2.TOURNAMENT_STATE_FINISHED:
        await asyncio.sleep(0.02)
        tournament = await client.get(slug)
    assert tournament.games_done == tournament.games_total


@pytest.mark.at_length
@pytest.mark.parametrize("fields, games", [({}, 4_000), ({"time": CLOCK}, 300)])
async def test_matches_share_in_proportion(client: Client, token: str, fields: dict[str, Any], games: int) -> None:
    async with client.online(token, *BOTS["one"], *BOTS["two"]):
        await start_match(client, token, "one", throughput=75, **fields)
        await start_match(client, token, "two", throughput=25, **fields)
        await stored_games(client, lambda games: min(games) > 0)
        await next_games(client, games)  # the first games show how the matches started, not how they share
        shares = await next_games(client, games)
        # On a busy machine 300 games with clocks vary by several percent. Without shares, both would have half of them.
        assert abs(shares[0] / sum(shares) - 0.75) < 0.1
        # While the first match is paused, the second gets the whole capacity.
        await client.pause(token, "one")
        await next_games(client, games)
        first, second = await next_games(client, games)
        assert first == 0 < second


@pytest.mark.at_length
async def test_a_higher_priority_plays_first_and_leaves_its_share_when_it_ends(client: Client, token: str) -> None:
    async with client.online(token, *BOTS["one"], *BOTS["two"]):
        await create_match(client, token, "two", throughput=1, priority=1, games_per_pair=6_000)
        await start_match(client, token, "one", throughput=1_000)
        await stored_games(client, lambda games: games[0] > 0)
        await client.start(token, "two")
        # By then all games of the other match that were running at the start have ended.
        await stored_games(client, lambda games: games[1] > 1_500)
        first, second = await next_games(client, 1_000)
        assert first == 0 < second
        await stored_games(client, lambda games: games[1] == 6_000)
        first, second = await next_games(client, 500)
        assert second == 0 < first


async def test_a_match_of_absent_bots_does_not_delay_other_matches(client: Client, token: str) -> None:
    async with client.online(token, *BOTS["two"]):
        await start_match(client, token, "one", throughput=100, priority=9)
        await start_match(client, token, "two", throughput=100)
        assert (await next_games(client, 500))[0] == 0
        async with client.online(token, *BOTS["one"]):
            await stored_games(client, lambda games: games[0] > 500)


class Gated(Bot):
    """A bot that answers only after the test has set `may_answer`; counts its questions."""

    max_games = 2

    def __init__(self) -> None:
        self.may_answer, self.questions = asyncio.Event(), 0

    async def choose(self, position: Position) -> int:
        self.questions += 1
        await self.may_answer.wait()
        return position.free[0]


async def test_a_match_decided_while_another_has_priority_plays_no_more(client: Client, token: str) -> None:
    gated = Gated()
    async with client.online(token, *BOTS["one"]), client.online(token, *BOTS["two"], bot=gated):
        # With these error rates, the first pair decides the test.
        await start_match(client, token, "two", throughput=1, sprt="elo0=0,elo1=400,alpha=0.49,beta=0.49")
        async with asyncio.timeout(PATIENCE):
            while gated.questions < 2:  # noqa: ASYNC110  # a bot tells nobody
                await asyncio.sleep(0.02)
        await start_match(client, token, "one", throughput=1, priority=1)
        await stored_games(client, lambda games: games[0] > 0)
        gated.may_answer.set()
        await wait_for_end(client, "two")
        questions = gated.questions
        await client.pause(token, "one")
        await asyncio.sleep(0.5)  # time in which a wrong question would arrive
        assert gated.questions == questions


async def test_all_formats_and_openings_are_played_to_the_end(client: Client, token: str) -> None:
    async with client.online(token, *BOTS["one"], *BOTS["two"]):
        for number in (tournaments_pb2.SCHEDULE_ROUND_ROBIN, tournaments_pb2.SCHEDULE_SWISS):
            slug = f"cup-{number}"
            openings = tournaments_pb2.Openings(kind="random", plies=2)
            await client.create(token, slug, schedule=number, games_per_pair=10, openings=openings, throughput=50)
            for bot in (*BOTS["one"], *BOTS["two"]):
                await client.join(token, bot, slug)
            await client.start(token, slug)
        async with asyncio.timeout(PATIENCE):
            for slug in await client.slugs():
                await wait_for_end(client, slug)
