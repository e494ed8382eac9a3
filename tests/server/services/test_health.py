"""Health of a server and of its services."""

from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health, health_pb2_grpc

from tests.support.client import Client, client_of, refusal_of

SERVICES = (
    "noughts.v1.PlayService",
    "noughts.v1.BotService",
    "noughts.v1.TournamentService",
    "noughts.v1.GameService",
    "noughts.v1.LeaderboardService",
    "noughts.v1.TokenService",
    "noughts.v1.ChallengeService",
    "noughts.v1.StatusService",
    "noughts.v1.FeedService",
    "noughts.v1.WebhookService",
    "noughts.v1.TestService",
    "noughts.v1.TuningService",
)


async def test_every_service_is_serving_until_the_server_drains(client: Client) -> None:
    for service in ("", *SERVICES):
        assert await client.serving(service) == "SERVING", service
    await client.server.drain()
    for service in ("", *SERVICES):
        assert await client.serving(service) == "NOT_SERVING", service


async def test_a_health_method_without_an_answer_is_unimplemented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health.aio.HealthServicer, "Check", health_pb2_grpc.HealthServicer.Check)
    async with client_of(tmp_path / "x.sqlite") as other:
        refusal = await refusal_of(other.serving(""))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNIMPLEMENTED, "UNKNOWN_METHOD")


async def test_a_server_can_be_drained_twice(client: Client) -> None:
    await client.server.drain()
    await client.server.drain()
    assert await client.serving("") == "NOT_SERVING"
