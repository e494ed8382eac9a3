"""Logins of bots, authentication of callers, and calls about what belongs to other owners."""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

import grpc
import grpc.aio
import pytest

from noughts_proto.transport import PROTOCOL, TOKEN_KEY
from noughts_proto.v1 import bots_pb2, play_pb2, tournaments_pb2
from noughts_server.store.people.tokens import create_token, revoke_token
from tests.support.client import Client, Metadata, bearer, create_request, hello, refusal_of


@pytest.mark.parametrize("streams", [False, True])
async def test_an_unknown_method_is_refused_with_a_reason(client: Client, streams: bool) -> None:
    async with grpc.aio.insecure_channel(client.server.address) as channel:
        if streams:
            call: Any = channel.stream_stream("/noughts.v1.PlayService/Win")()
            refusal = await refusal_of(call.read())
        else:
            win: Any = channel.unary_unary("/noughts.v2.LuckService/Win")
            refusal = await refusal_of(win(b""))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNIMPLEMENTED, "UNKNOWN_METHOD")
    assert refusal.info.metadata["got"].endswith("Service/Win")


async def test_a_bot_is_welcomed_under_its_name_and_version(client: Client) -> None:
    answer = await client.first_frame(hello(version="2"), bearer(await client.token()))
    assert (answer.frame, answer.welcome.protocol) == (0, PROTOCOL)
    assert (answer.welcome.bot, answer.welcome.version) == ("bots/ada", "bots/ada/versions/2")
    bot = (await client.bots.GetBot(bots_pb2.GetBotRequest(name="bots/ada"))).bot
    assert (bot.owner, bot.latest_version) == ("alice", "bots/ada/versions/2")


async def test_another_protocol_version_is_refused_with_the_supported_ones(client: Client) -> None:
    token = await client.token()
    for protocol in (0, 2, 4_000_000_000):
        refusal = await refusal_of(client.first_frame(hello(protocol=protocol), bearer(token)))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "PROTOCOL_UNSUPPORTED")
        assert (refusal.info.metadata["minimum"], refusal.info.metadata["maximum"]) == ("1", "1")


async def test_a_stream_that_does_not_begin_with_hello_is_refused(client: Client) -> None:
    token = await client.token()
    for first in (play_pb2.PlayRequest(done_through=1), play_pb2.PlayRequest(), None):
        refusal = await refusal_of(client.first_frame(first, bearer(token)))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
        assert refusal.fields() == ["hello"]


async def test_a_bot_of_another_owner_cannot_log_in(client: Client) -> None:
    await client.register("ada", owner="alice")
    refusal = await refusal_of(client.first_frame(hello(), bearer(await client.token("bob"))))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")


@pytest.mark.parametrize(
    "metadata",
    [(), bearer(""), bearer("nou_unknown"), ((TOKEN_KEY, "Basic YTpi"),), (("x-token", "nou_unknown"),)],
    ids=["no token", "empty token", "unknown token", "another scheme", "another key"],
)
async def test_callers_without_a_known_token_are_unauthenticated(client: Client, metadata: Metadata) -> None:
    calls: Sequence[Awaitable[object]] = (
        client.tournaments.CreateTournament(create_request("cup"), metadata=metadata),
        client.first_frame(hello(), metadata),
    )
    for call in calls:
        refusal = await refusal_of(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
    assert await client.slugs() == []


async def test_a_revoked_token_is_refused(client: Client) -> None:
    now = client.server.store.now_ms()
    new_token = await client.server.store.write(partial(create_token, owner="alice", now_ms=now))
    await client.create(new_token.secret, "before")
    await client.server.store.write(partial(revoke_token, token_id=new_token.token.id, now_ms=now))
    calls: Sequence[Awaitable[object]] = (
        client.create(new_token.secret, "after"),
        client.first_frame(hello(), bearer(new_token.secret)),
    )
    for call in calls:
        refusal = await refusal_of(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")
        assert new_token.secret not in refusal.trailing
    assert await client.slugs() == ["before"]


async def test_every_method_that_changes_something_needs_a_token(client: Client) -> None:
    await client.register("ada")
    await client.create(await client.token())
    stub, name = client.tournaments, "tournaments/cup"
    calls: Sequence[Awaitable[object]] = (
        stub.CreateTournament(create_request("plate")),
        stub.JoinTournament(tournaments_pb2.JoinTournamentRequest(name=name, bot="bots/ada")),
        stub.WithdrawTournament(tournaments_pb2.WithdrawTournamentRequest(name=name, label="ada")),
        stub.StartTournament(tournaments_pb2.StartTournamentRequest(name=name)),
        stub.PauseTournament(tournaments_pb2.PauseTournamentRequest(name=name)),
        stub.CancelTournament(tournaments_pb2.CancelTournamentRequest(name=name)),
    )
    for call in calls:
        assert (await refusal_of(call)).code is grpc.StatusCode.UNAUTHENTICATED


async def test_nobody_starts_or_cancels_the_tournament_of_another_owner(client: Client) -> None:
    alice, bob = await client.token("alice"), await client.token("bob")
    await client.register("ada", "bert")
    await client.create(alice)
    for bot in ("ada", "bert"):
        await client.join(alice, bot)
    for change in (client.start, client.pause, client.cancel):
        refusal = await refusal_of(change(bob))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
        assert refusal.info.metadata["subject"] == "tournaments/cup"
    assert (await client.get()).state == tournaments_pb2.TOURNAMENT_STATE_OPEN


async def test_the_bot_of_another_owner_cannot_be_entered(client: Client) -> None:
    await client.register("ada", owner="alice")
    bob = await client.token("bob")
    await client.create(bob)
    assert (await refusal_of(client.join(bob, "ada"))).code is grpc.StatusCode.PERMISSION_DENIED
    assert not (await client.get()).standings
