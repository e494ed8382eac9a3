"""Requests that are repeated with the same request ID."""

import asyncio
from collections.abc import Awaitable, Sequence

import grpc
import grpc.aio

from noughts_proto.v1 import tournaments_pb2
from tests.support.client import Client, bearer, refusal_of


async def test_creating_twice_under_one_request_id_creates_once(client: Client) -> None:
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
        client.tournaments.JoinTournament(join, metadata=bearer(token)),
    )
    for call in calls:
        refusal = await refusal_of(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_CONFLICT")
    assert await client.slugs() == ["cup"]


async def test_another_token_may_use_the_same_request_id_even_of_the_same_owner(client: Client) -> None:
    for place, owner in enumerate(("alice", "alice", "bob")):
        await client.create(await client.token(owner), f"cup-{place}", "r1")
    assert await client.slugs() == ["cup-2", "cup-1", "cup-0"]


async def test_without_a_request_id_a_second_creation_finds_the_name_taken(client: Client) -> None:
    token = await client.token()
    await client.create(token)
    refusal = await refusal_of(client.create(token))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "ALREADY_EXISTS")


async def test_a_request_that_failed_may_be_tried_again_under_its_request_id(client: Client) -> None:
    token = await client.token()
    assert (await refusal_of(client.create(token, request_id="r1", variant="chess"))).fields() == ["tournament.variant"]
    assert (await client.create(token, request_id="r1")).name == "tournaments/cup"


async def test_joining_twice_under_one_request_id_enters_once(client: Client) -> None:
    token, other = await client.token(), await client.token()
    await client.register("ada", "bert")
    await client.create(token)

    async def join(bot: str, by: str = token) -> tournaments_pb2.JoinTournamentResponse:
        request = tournaments_pb2.JoinTournamentRequest(name="tournaments/cup", bot=f"bots/{bot}", request_id="r1")
        return await client.tournaments.JoinTournament(request, metadata=bearer(by))

    first = await join("ada")
    assert (first.label, first.bot_version) == ("ada", "bots/ada/versions/1")
    assert await join("ada") == first
    assert (await refusal_of(join("bert"))).reason == "REQUEST_CONFLICT"
    assert (await join("bert", other)).label == "bert"
    assert [row.label for row in (await client.get()).standings] == ["ada", "bert"]
    await client.start(token)
    # A repeated request gets the same answer even after the tournament has started.
    assert await join("ada") == first
