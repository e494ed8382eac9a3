"""A bot that asks for stored ends gets the end of a game only after the game is in the database."""

import pytest

from tests.support.checking_bot import Checking
from tests.support.client import Client

GAMES = 40


@pytest.mark.parametrize("stored_ends", [True, False])
async def test_bot_learns_an_end_after_the_commit_if_it_asks(client: Client, stored_ends: bool) -> None:
    token, bot = await client.token(), Checking(client.database)
    bot.stored_ends = stored_ends
    async with client.online(token, "ada", bot=bot), client.online(token, "bob"):
        await client.create(token, games_per_pair=GAMES, concurrency=4)
        for name in ("ada", "bob"):
            await client.join(token, name)
        await client.start(token)
        await client.until(lambda cup: cup.games_done == GAMES and len(bot.ended) == GAMES)
    assert len(set(bot.ended)) == GAMES
    assert bool(bot.missing) is not stored_ends
