"""Scopes and lifetimes of tokens, and sessions of revoked and expired tokens."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from noughts_bots import BotRefused
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import bots_pb2, play_pb2, tokens_pb2
from noughts_server.core.errors import InvalidArgument
from noughts_server.services.new_tokens import check_scopes
from noughts_server.store.people.scopes import permits
from tests.support.client import Client, bearer, client_of, hello, refusal_of
from tests.support.patience import PATIENCE

from .players import Undecided, until_online


async def own_token(client: Client, secret: str) -> tokens_pb2.Token:
    request = tokens_pb2.GetTokenRequest(name="tokens/self")
    return (await client.tokens.GetToken(request, metadata=bearer(secret))).token


async def create_over_network(client: Client, secret: str, *scopes: str, owner: str = "", seconds: int = 0) -> str:
    """Create a token by a call, and return its secret; `seconds` is its lifetime."""
    token = tokens_pb2.Token(owner=owner, scopes=scopes)
    ttl = Duration(seconds=seconds) if seconds else None
    request = tokens_pb2.CreateTokenRequest(token=token, ttl=ttl)
    return (await client.tokens.CreateToken(request, metadata=bearer(secret))).secret


async def revoke(client: Client, secret: str, name: str = "tokens/self") -> tokens_pb2.Token:
    request = tokens_pb2.RevokeTokenRequest(name=name)
    return (await client.tokens.RevokeToken(request, metadata=bearer(secret))).token


# Scopes as words.


@pytest.mark.parametrize(
    "scope, needed_scope, permitted",
    [
        ("play", "play:ada", True),
        ("play", "play", True),
        ("play", "organise", False),
        ("play:ada", "play:ada", True),
        ("play:ada", "play:bob", False),
        ("play:ada", "play:ada:2", False),
        ("play:ada", "play", False),
        ("organise", "play:ada", False),
        ("organise", "admin", False),
        ("admin", "organise", True),
        ("admin", "play:ada", True),
    ],
)
def test_a_scope_permits_equal_and_narrower_scopes(scope: str, needed_scope: str, permitted: bool) -> None:
    assert permits([scope], needed_scope) is permitted


@pytest.mark.parametrize("scope", ["", "plays", "play:", "play:a b", "admin:ada", "organise:cup", "play organise"])
def test_an_unknown_scope_is_refused(scope: str) -> None:
    with pytest.raises(InvalidArgument):
        check_scopes([scope])


def test_no_scope_means_play_and_organise() -> None:
    assert check_scopes([]) == ("play", "organise")


# Calls.


async def test_a_token_without_the_scope_is_told_which_one_is_missing(client: Client) -> None:
    await client.register("ada", "bob")
    organiser, player = await client.token("alice", "organise"), await client.token("alice", "play:ada")
    await client.create(organiser)
    refusals = {
        "`organise`": client.create(player, "plate"),
        "`play:ada`": client.join(organiser, "ada"),
        "`play:bob`": client.join(player, "bob"),
    }
    for scope, call in refusals.items():
        refusal = await refusal_of(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
        assert refusal.info.metadata["expected"] == scope
        assert scope.strip("`") in refusal.info.metadata["hint"]
    assert (await client.join(player, "ada")).label == "ada"
    refusal = await refusal_of(client.start(player))
    assert refusal.reason == "SCOPE_MISSING"


async def test_a_token_for_one_bot_logs_in_as_that_bot_only(client: Client) -> None:
    token = await client.token("alice", "play:ada")
    assert (await client.first_frame(hello(), bearer(token))).welcome.bot == "bots/ada"
    refusal = await refusal_of(client.first_frame(hello(bot="bob"), bearer(token)))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")


async def test_an_admin_handles_the_tournaments_and_tokens_of_others(client: Client) -> None:
    alice, root = await client.token("alice"), await client.token("root", "admin")
    await client.register("ada", "bob")
    await client.create(alice)
    for bot in ("ada", "bob"):
        await client.join(root, bot)
    await client.start(root)
    await client.cancel(root)
    listed = await client.tokens.ListTokens(tokens_pb2.ListTokensRequest(), metadata=bearer(root))
    assert [token.owner for token in listed.tokens] == ["alice", "root"]
    await revoke(client, root, listed.tokens[0].name)
    assert (await refusal_of(own_token(client, alice))).reason == "TOKEN_REVOKED"


async def test_everyone_else_sees_and_revokes_their_own_tokens_only(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    listed = await client.tokens.ListTokens(tokens_pb2.ListTokensRequest(), metadata=bearer(alice))
    assert [token.owner for token in listed.tokens] == ["alice"]
    token_of_bob = (await own_token(client, bob)).name
    assert (await refusal_of(revoke(client, alice, token_of_bob))).reason == "PERMISSION_DENIED"
    assert (await refusal_of(revoke(client, alice, "tokens/999"))).reason == "NOT_FOUND"
    assert (await own_token(client, bob)).owner == "bob"


async def test_a_token_sees_only_tokens_that_permit_no_more_than_itself(client: Client) -> None:
    full, narrow = await client.token("alice"), await client.token("alice", "play:ada")
    sibling = await client.token("alice", "play:ada")
    wider, same = (await own_token(client, full)).name, (await own_token(client, sibling)).name
    listed = await client.tokens.ListTokens(tokens_pb2.ListTokensRequest(), metadata=bearer(narrow))
    assert [token.name for token in listed.tokens] == [(await own_token(client, narrow)).name, same]
    call = client.tokens.GetToken(tokens_pb2.GetTokenRequest(name=wider), metadata=bearer(narrow))
    assert (await refusal_of(call)).reason == "PERMISSION_DENIED"
    listed = await client.tokens.ListTokens(tokens_pb2.ListTokensRequest(), metadata=bearer(full))
    assert len(listed.tokens) == 3


async def test_a_token_makes_no_token_that_can_do_more_than_itself(client: Client) -> None:
    player = await client.token("alice", "play:ada")
    made = await create_over_network(client, player, "play:ada")
    assert list((await own_token(client, made)).scopes) == ["play:ada"]
    calls: Sequence[Awaitable[object]] = (
        create_over_network(client, player),
        create_over_network(client, player, "play"),
        create_over_network(client, player, "play:bob"),
        create_over_network(client, player, "admin"),
        create_over_network(client, player, "play:ada", owner="bob"),
    )
    for call in calls:
        assert (await refusal_of(call)).reason == "SCOPE_MISSING"


async def test_a_token_revokes_none_that_can_do_more_than_itself(client: Client) -> None:
    wide, narrow = await client.token("alice"), await client.token("alice", "play:ada")
    name = (await own_token(client, wide)).name
    assert (await refusal_of(revoke(client, narrow, name))).reason == "SCOPE_MISSING"
    assert (await revoke(client, narrow)).HasField("revoke_time")


async def test_a_token_lives_no_longer_than_the_one_that_made_it(client: Client) -> None:
    parent = await client.token("alice", lifetime_ms=3_600_000)
    expiry = (await own_token(client, parent)).expire_time.ToMilliseconds()
    child = await own_token(client, await create_over_network(client, parent))
    assert child.expire_time.ToMilliseconds() == expiry
    assert (
        await own_token(client, await create_over_network(client, parent, seconds=60))
    ).expire_time.ToMilliseconds() < expiry
    assert (await refusal_of(create_over_network(client, parent, seconds=7_200))).fields() == ["ttl"]


async def test_an_expired_token_is_refused_with_the_reason(client: Client) -> None:
    token = await client.token("alice", lifetime_ms=1)
    await asyncio.sleep(0.01)
    calls: Sequence[Awaitable[object]] = (client.create(token), client.first_frame(hello(), bearer(token)))
    for call in calls:
        refusal = await refusal_of(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED")


async def test_last_use_of_a_token_is_stored_at_most_once_a_minute(client: Client) -> None:
    token = await client.token()
    await client.create(token, "one")
    first = (await own_token(client, token)).last_use_time.ToMilliseconds()
    assert first > 0
    await asyncio.sleep(0.01)
    await client.create(token, "two")
    assert (await own_token(client, token)).last_use_time.ToMilliseconds() == first
    with closing(sqlite3.connect(client.database)) as connection, connection:
        connection.execute("UPDATE tokens SET last_used_at = last_used_at - 60000")
    await client.create(token, "three")
    assert (await own_token(client, token)).last_use_time.ToMilliseconds() > first


# Sessions.


@pytest.fixture
async def client_of_patient_server(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server that waits for absent bots longer than a test waits for anything."""
    async with client_of(tmp_path / "x.sqlite", reconnect_timeout=10 * PATIENCE) as client:
        yield client


async def test_revoking_a_token_ends_its_bots_and_loses_their_games(client_of_patient_server: Client) -> None:
    client = client_of_patient_server
    revoked_token, other_token = await client.token("mallory"), await client.token("alice")
    bot = Undecided()
    async with client.online(other_token, "ada"), asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(refusal_text(play(bot, Login(client.server.address, revoked_token, "mal"))))
        await until_online(client, "mal")
        await client.create(other_token)
        await client.join(other_token, "ada")
        await client.join(revoked_token, "mal")
        await client.start(other_token)
        async with asyncio.timeout(PATIENCE):
            await bot.was_asked.wait()
            await revoke(client, revoked_token)
            refusal = await playing
        assert "revoked" in refusal
        # Both running games are lost at once, not after the reconnect timeout.
        cup = await client.until(lambda tournament: tournament.games_done == 2)
        assert {row.label: row.wins for row in cup.standings} == {"ada": 2, "mal": 0}


@pytest.mark.parametrize("change, reason", [("revoked_at = 1", "revoked"), ("expires_at = 1", "expired")])
async def test_a_token_that_another_process_ends_is_noticed_within_seconds(
    client: Client, change: str, reason: str
) -> None:
    token = await client.token()
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(refusal_text(play(Random(), Login(client.server.address, token, "ada"))))
        await until_online(client, "ada")
        with closing(sqlite3.connect(client.database)) as connection, connection:
            connection.execute(f"UPDATE tokens SET {change}")
        async with asyncio.timeout(PATIENCE):
            assert reason in await playing


async def test_revoking_a_token_ends_no_other_sessions(client: Client) -> None:
    one, other = await client.token(), await client.token()
    async with client.online(other, "ada"):
        await client.first_frame(hello(bot="bob"), bearer(one))
        await revoke(client, one)
        request = bots_pb2.GetBotRequest(name="bots/ada")
        assert (await client.bots.GetBot(request)).bot.online


async def test_a_stream_of_a_revoked_token_ends_with_the_reason(client: Client) -> None:
    token = await client.token()
    call = client.play.Play(metadata=bearer(token))
    await call.write(hello())
    assert isinstance(await call.read(), play_pb2.PlayResponse)
    await until_online(client, "ada")
    await revoke(client, token)
    refusal = await refusal_of(read_to_the_end(call.read))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")


async def read_to_the_end(read: object) -> None:
    """Read until the stream ends, which raises its status."""
    async with asyncio.timeout(PATIENCE):
        while True:
            await read()  # type: ignore[operator]


async def refusal_text(playing: Awaitable[None]) -> str:
    """Wait until the server refuses the bot, and return the text of the error."""
    with pytest.raises(BotRefused) as caught:
        await playing
    assert caught.value.code is grpc.StatusCode.UNAUTHENTICATED
    return str(caught.value)


async def test_revoking_a_token_revokes_the_tokens_that_it_made(client: Client) -> None:
    stolen = await client.token("ada")
    made = await create_over_network(client, await create_over_network(client, stolen))
    await revoke(client, stolen)
    refusal = await refusal_of(own_token(client, made))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")
