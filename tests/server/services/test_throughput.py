"""Running tournaments with a throughput share the games of a server, by priority and in proportion."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from noughts_bots import Bot, Position
from noughts_proto.v1 import tournaments_pb2, types_pb2
from tests.support.client import Client

BOTS = {"one": ("ada", "bob"), "two": ("cyd", "dan")}
CLOCK = types_pb2.TimeControl(bank_us=600_000_000)


@pytest.fixture
async def token(client: Client) -> str:
    token = await client.token()
    await client.register(*BOTS["one"], *BOTS["two"])
    return token


async def create(client: Client, token: str, slug: str, **fields: Any) -> None:
    """Creates a match of many games."""
    usual = {"schedule": tournaments_pb2.SCHEDULE_MATCH, "games_per_pair": 100_000, "concurrency": 32, "rated": False}
    await client.create(token, slug, **{**usual, **fields})
    for bot in BOTS[slug]:
        await client.join(token, bot, slug)


async def begin(client: Client, token: str, slug: str, **fields: Any) -> None:
    """Creates and starts it."""
    await create(client, token, slug, **fields)
    await client.start(token, slug)


async def stored(client: Client, enough: Callable[[list[int]], bool] = lambda games: True) -> list[int]:
    """Return the number of stored games of each match, once they are enough."""
    async with asyncio.timeout(60):
        while True:
            games = [(await client.get(slug)).games_done for slug in BOTS]
            if enough(games):
                return games
            await asyncio.sleep(0.02)


async def played(client: Client, number: int) -> list[int]:
    """Return how many of the next games are of each match, once at least so many are stored."""
    before = await stored(client)
    after = await stored(client, lambda games: sum(games) >= sum(before) + number)
    return [now - then for now, then in zip(after, before, strict=True)]


async def ended(client: Client, slug: str) -> None:
    """Returns when all games of a tournament are stored."""
    found = await client.get(slug)
    while found.state != tournaments_pb2.TOURNAMENT_STATE_FINISHED:
        await asyncio.sleep(0.02)
        found = await client.get(slug)
    assert found.games_done == found.games_total


@pytest.mark.at_length
@pytest.mark.parametrize("fields, games", [({}, 4_000), ({"time": CLOCK}, 300)])
async def test_matches_share_in_proportion(client: Client, token: str, fields: dict[str, Any], games: int) -> None:
    async with client.online(token, *BOTS["one"], *BOTS["two"]):
        await begin(client, token, "one", throughput=75, **fields)
        await begin(client, token, "two", throughput=25, **fields)
        await stored(client, lambda games: min(games) > 0)
        shares = await played(client, games)
        assert abs(shares[0] / sum(shares) - 0.75) < 0.05
        # Without the other, one of them gets everything.
        await client.pause(token, "one")
        await played(client, games)
        first, second = await played(client, games)
        assert first == 0 < second


@pytest.mark.at_length
async def test_a_higher_priority_plays_first_and_leaves_its_share_when_it_ends(client: Client, token: str) -> None:
    async with client.online(token, *BOTS["one"], *BOTS["two"]):
        await create(client, token, "two", throughput=1, priority=1, games_per_pair=6_000)
        await begin(client, token, "one", throughput=1_000)
        await stored(client, lambda games: games[0] > 0)
        await client.start(token, "two")
        # The games that were running when it began end meanwhile.
        await stored(client, lambda games: games[1] > 1_500)
        first, second = await played(client, 1_000)
        assert first == 0 < second
        await stored(client, lambda games: games[1] == 6_000)
        first, second = await played(client, 500)
        assert second == 0 < first


async def test_a_match_whose_bots_are_away_does_not_hold_up_the_others(client: Client, token: str) -> None:
    async with client.online(token, *BOTS["two"]):
        await begin(client, token, "one", throughput=100, priority=9)
        await begin(client, token, "two", throughput=100)
        assert (await played(client, 500))[0] == 0
        async with client.online(token, *BOTS["one"]):
            await stored(client, lambda games: games[0] > 500)


class Gated(Bot):
    """Answers when it may."""

    max_games = 2

    def __init__(self) -> None:
        self.may, self.asked = asyncio.Event(), 0

    async def choose(self, position: Position) -> int:
        self.asked += 1
        await self.may.wait()
        return position.free[0]


async def test_a_match_that_is_decided_while_it_has_no_turn_plays_no_more(client: Client, token: str) -> None:
    gated = Gated()
    async with client.online(token, *BOTS["one"]), client.online(token, *BOTS["two"], bot=gated):
        # Any pair decides it.
        await begin(client, token, "two", throughput=1, sprt="elo0=0,elo1=400,alpha=0.49,beta=0.49")
        async with asyncio.timeout(60):
            while gated.asked < 2:  # noqa: ASYNC110  # a bot tells nobody
                await asyncio.sleep(0.02)
        await begin(client, token, "one", throughput=1, priority=1)
        await stored(client, lambda games: games[0] > 0)
        gated.may.set()
        await ended(client, "two")
        asked = gated.asked
        await client.pause(token, "one")
        await asyncio.sleep(0.5)
        assert gated.asked == asked


async def test_all_formats_and_openings_are_played_to_the_end(client: Client, token: str) -> None:
    async with client.online(token, *BOTS["one"], *BOTS["two"]):
        for number in (tournaments_pb2.SCHEDULE_ROUND_ROBIN, tournaments_pb2.SCHEDULE_SWISS):
            slug = f"cup-{number}"
            openings = tournaments_pb2.Openings(kind="random", plies=2)
            await client.create(token, slug, schedule=number, games_per_pair=10, openings=openings, throughput=50)
            for bot in (*BOTS["one"], *BOTS["two"]):
                await client.join(token, bot, slug)
            await client.start(token, slug)
        async with asyncio.timeout(60):
            for slug in await client.slugs():
                await ended(client, slug)
