"""Sessions of online bots, and the connections that a server keeps for bots that have left."""

from pathlib import Path

import pytest

from noughts_proto.v1 import bots_pb2
from noughts_server.runtime import sessions
from tests.support.client import Client, bearer, client_of, hello
from tests.support.loopback import wait_until


async def log_in_and_leave(client: Client, token: str, bot: str) -> None:
    """Log the bot in, and wait until the server has noticed that it left again."""
    await client.first_frame(hello(bot=bot), bearer(token))
    await wait_until(lambda: not client.server.sessions.present())


async def tournament_without_its_bots(client: Client) -> str:
    """Start a tournament of ada and bob with 10 games, let ada and eve log in and leave, and return the token."""
    token = await client.token()
    await client.register("ada", "bob")
    await client.create(token, games_per_pair=10)
    for bot in ("ada", "bob"):
        await client.join(token, bot)
    await client.start(token)
    for bot in ("ada", "eve"):
        await log_in_and_leave(client, token, bot)
    return token


async def test_connections_of_bots_that_left_long_ago_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        for number in range(5):
            await log_in_and_leave(client, token, f"bot-{number}")
        assert len(client.server.sessions._wires) == 5
        monkeypatch.setattr(sessions, "_FORGET_SECONDS", 0.0)
        async with client.online(token, "ada"):
            assert len(client.server.sessions._wires) == 1
            assert list(client.server.sessions.present()) == ["bots/ada/versions/1"]
            await client.first_frame(hello(bot="bot-0"), bearer(token))  # a forgotten bot can log in again


async def test_bot_that_returns_after_a_long_time_is_online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_FORGET_SECONDS", 0.0)
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        await log_in_and_leave(client, token, "ada")
        async with client.online(token, "ada"):
            assert list(client.server.sessions.present()) == ["bots/ada/versions/1"]
            assert [login.name for login in client.server.sessions.logins_online().values()] == ["bots/ada/versions/1"]


async def test_a_bot_that_a_tournament_waits_for_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_FORGET_SECONDS", 0.0)
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await tournament_without_its_bots(client)
        async with client.online(token, "bob", "ada"):
            await client.until(lambda cup: cup.games_done == 10)


async def test_a_bot_that_left_a_tournament_is_forgotten_after_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_FORGET_SECONDS", 0.0)
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await tournament_without_its_bots(client)
        assert len(client.server.sessions._wires) == 2
        await client.cancel(token)
        await client.at_rest()
        await log_in_and_leave(client, token, "eve")
        assert [login.name for login in client.server.sessions.logins_here().values()] == ["bots/eve/versions/1"]


async def test_presence_is_looked_up_once_a_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        await client.register(*(f"bot-{number:03}" for number in range(200)))
        lookups: list[int] = []
        bots_online = sessions.Sessions.bots_online

        def counting_bots_online(self: sessions.Sessions) -> set[int]:
            lookups.append(1)
            return bots_online(self)

        monkeypatch.setattr(sessions.Sessions, "bots_online", counting_bots_online)
        async with client.online(token, "bot-007"):
            answer = await client.bots.ListBots(bots_pb2.ListBotsRequest(page_size=1_000))
        assert [bot.name for bot in answer.bots if bot.online] == ["bots/bot-007"]
        assert (len(answer.bots), lookups) == (200, [1])
