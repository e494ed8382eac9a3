"""Bots that are online, and what a server keeps of the others."""

from pathlib import Path

import pytest

from noughts_proto.v1 import bots_pb2
from noughts_server.runtime import sessions
from tests.support.client import Client, bearer, client_of, hello
from tests.support.loopback import wait_until


async def visit(client: Client, token: str, bot: str) -> None:
    """The bot logs in and leaves again."""
    await client.first_frame(hello(bot=bot), bearer(token))
    await wait_until(lambda: not client.server.sessions.present())


async def test_wires_of_bots_that_have_long_been_away_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        for number in range(5):
            await visit(client, token, f"bot-{number}")
        assert len(client.server.sessions._wires) == 5
        monkeypatch.setattr(sessions, "_FORGET_SECONDS", 0.0)
        async with client.online(token, "ada"):
            assert len(client.server.sessions._wires) == 1
            assert list(client.server.sessions.present()) == ["bots/ada/versions/1"]
            await client.first_frame(hello(bot="bot-0"), bearer(token))  # nobody misses what was forgotten


async def test_a_bot_that_a_tournament_waits_for_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_FORGET_SECONDS", 0.0)
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        await client.register("ada", "bob")
        await client.create(token, games_per_pair=10)
        for bot in ("ada", "bob"):
            await client.join(token, bot)
        await client.start(token)
        await visit(client, token, "ada")
        await visit(client, token, "eve")
        async with client.online(token, "bob", "ada"):
            await client.until(lambda cup: cup.games_done == 10)


async def test_presence_is_looked_up_once_a_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        await client.register(*(f"bot-{number:03}" for number in range(200)))
        looked: list[int] = []
        found = sessions.Sessions.bots_online

        def counted(self: sessions.Sessions) -> set[int]:
            looked.append(1)
            return found(self)

        monkeypatch.setattr(sessions.Sessions, "bots_online", counted)
        async with client.online(token, "bot-007"):
            listed = await client.bots.ListBots(bots_pb2.ListBotsRequest(page_size=1_000))
        assert [bot.name for bot in listed.bots if bot.online] == ["bots/bot-007"]
        assert (len(listed.bots), looked) == (200, [1])
