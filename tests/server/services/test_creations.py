"""Bytes of the settings of new tournaments, tests and challenges count towards a daily limit of their owner."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from noughts_proto.v1 import challenges_pb2, tests_pb2, tournaments_pb2
from noughts_proto.v1.tournaments_pb2 import Openings, Tournament
from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import Limits
from noughts_server.services.limiter import Limiter
from tests.support.client import Client, bearer, client_of, refusal_of

LIST = Openings(kind="list", name="long.txt", text="\n".join(f"{a} {b}" for a in range(9) for b in range(9) if a != b))
"""Openings whose stored settings take a little more than 431 bytes: two fit into the limit below, three do not."""


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(settings_bytes=1_250)) as opened:
        yield opened


async def challenge(client: Client, token: str, **fields: Any) -> Tournament:
    request = challenges_pb2.CreateChallengeRequest(challenger="bots/ada", opponent="bots/ada-2", **fields)
    return (await client.challenges.CreateChallenge(request, metadata=bearer(token))).tournament


async def check_limit_is_reached(client: Client, token: str) -> None:
    """Check that every way to create something is refused with a list of openings, and accepted without one."""
    test = tests_pb2.Test(
        new_version="bots/ada", base_version="bots/ada-2", tournament=Tournament(variant="tictactoe", openings=LIST)
    )
    weekly: dict[str, Any] = {"openings": LIST, "repeat": tournaments_pb2.REPEAT_WEEKLY}
    for call in (
        client.create(token, "more", openings=LIST),
        client.create(token, "league", **weekly),
        client.tests.CreateTest(tests_pb2.CreateTestRequest(test=test), metadata=bearer(token)),
        challenge(client, token, openings=LIST),
    ):
        refusal = await refusal_of(call)
        assert (refusal.reason, refusal.info.metadata["limit"]) == ("LIMIT_REACHED", "settings_bytes")
        assert "Send fewer openings, or name random:N or balanced:N" in refusal.info.metadata["hint"]
    await client.create(token, "short", openings=Openings(kind="random", plies=2))
    await challenge(client, token)


async def test_cancelled_tournaments_count_for_their_owner(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "ada-2"):
        for slug in ("a", "b"):
            await client.create(token, slug, openings=LIST)
            await client.cancel(token, slug)
        await check_limit_is_reached(client, token)
    await client.create(await client.token("bob"), "c", openings=LIST)
    admin = await client.token("alice", "admin")
    await client.create(admin, "d", openings=LIST)


async def test_repeated_and_failed_requests_cost_nothing(client: Client) -> None:
    token = await client.token()
    for _ in range(4):
        await client.create(token, "a", request_id="once", openings=LIST)
        assert (await refusal_of(client.create(token, "a", openings=LIST))).reason == "ALREADY_EXISTS"
    await client.create(token, "b", openings=LIST)


async def test_league_counts_for_the_seasons_that_cancelling_opens(client: Client) -> None:
    call = client.create(await client.token(), "league", openings=LIST, repeat=tournaments_pb2.REPEAT_WEEKLY)
    assert (await refusal_of(call)).info.metadata["limit"] == "settings_bytes"


def test_daily_limit_recovers_evenly_over_the_day() -> None:
    now = [0.0]
    limiter = Limiter(Limits(settings_bytes=86_400), lambda: now[0])
    limiter.take("settings_bytes", 1, "bytes", 86_400)
    with pytest.raises(LimitReached) as caught:
        limiter.take("settings_bytes", 1, "bytes", 5_000, instead="Send less")
    assert "Send less, or try again in 5,000 s" in caught.value.hint
    now[0] += 5_000
    limiter.take("settings_bytes", 1, "bytes", 5_000)
