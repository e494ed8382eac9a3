"""Owners create, list, test and delete webhooks, and the server delivers to them by itself."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_server.core.limits import Limits
from tests.support.client import Client, bearer, client_of, refusal_of
from tests.support.receiver import Receiver
from tests.support.root import ROOT


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with client_of(tmp_path / "x.sqlite", private_webhooks=True) as opened:
        yield opened


async def create_webhook(client: Client, token: str, **fields: Any) -> pb.CreateWebhookResponse:
    request = pb.CreateWebhookRequest(webhook=pb.Webhook(**fields))
    return await client.webhooks.CreateWebhook(request, metadata=bearer(token))


async def send_test(client: Client, token: str, name: str) -> pb.Webhook:
    request = pb.TestWebhookRequest(name=name)
    return (await client.webhooks.TestWebhook(request, metadata=bearer(token))).webhook


async def list_webhooks(client: Client, token: str) -> list[pb.Webhook]:
    return list((await client.webhooks.ListWebhooks(pb.ListWebhooksRequest(), metadata=bearer(token))).webhooks)


async def test_a_test_arrives_and_a_failed_one_says_why(client: Client, receiver: Receiver) -> None:
    token = await client.token()
    created = await create_webhook(client, token, url=receiver.url)
    tested = await send_test(client, token, created.webhook.name)
    assert (tested.waiting, tested.failures, tested.problem) == (0, 0, "")
    [request] = receiver.requests
    assert request.is_signed(created.secret)
    # The function on the page in the documentation accepts the same signature.
    page = (ROOT / "docs/how-to/webhooks.md").read_text()
    page_functions: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], page_functions)
    assert page_functions["is_genuine"](created.secret, request.headers, request.body)
    assert not page_functions["is_genuine"](created.secret, request.headers, request.body + b" ")
    assert not page_functions["is_genuine"](created.secret, {**request.headers, "Noughts-Timestamp": "0"}, request.body)
    assert request.document["webhook"] == created.webhook.name
    receiver.status = 500
    tested = await send_test(client, token, created.webhook.name)
    assert (tested.waiting, tested.failures, tested.problem) == (
        1,
        1,
        "the answer has the status 500, expected 200 to 299",
    )
    # Another test does not wait for the end of the delay.
    receiver.status = 204
    assert (await send_test(client, token, created.webhook.name)).problem == ""


async def test_secrets_are_not_listed_and_owners_see_only_their_own(client: Client) -> None:
    alice, bob, admin = await client.token(), await client.token("bob"), await client.token("root", "admin")
    created = await create_webhook(
        client, alice, url="http://127.0.0.1:1/", format="slack", events=["bot.withdrawn"] * 2
    )
    assert await list_webhooks(client, bob) == []
    [webhook] = await list_webhooks(client, alice)
    assert webhook == created.webhook
    assert (webhook.owner, webhook.format, list(webhook.events)) == ("alice", "slack", ["bot.withdrawn"])
    assert created.secret not in str(webhook)
    request = pb.DeleteWebhookRequest(name=webhook.name)
    assert (
        await refusal_of(client.webhooks.DeleteWebhook(request, metadata=bearer(bob)))
    ).reason == "PERMISSION_DENIED"
    await client.webhooks.DeleteWebhook(request, metadata=bearer(admin))
    assert (await refusal_of(client.webhooks.DeleteWebhook(request, metadata=bearer(admin)))).reason == "NOT_FOUND"


@pytest.mark.parametrize(
    "url",
    [
        *("", "ftp://example.org/", "example.org", "http://", "http:///x", "http://user@127.0.0.1/"),
        *("http://127.0.0.1:65536/", "http://127.0.0.1:x/", "http://[::1/", "http://127.0.0.1/a b"),
        *("http://127.0.0.1/\r\nX: y", "http://127.0.0.1/é", "http://127.0.0.1/#x\n", "http://127.0.0.1/" + "x" * 400),
    ],
)
async def test_an_invalid_address_is_refused(client: Client, url: str) -> None:
    refusal = await refusal_of(create_webhook(client, await client.token(), url=url))
    assert (refusal.code, refusal.fields()) == (grpc.StatusCode.INVALID_ARGUMENT, ["webhook.url"])


async def test_unknown_formats_and_events_are_refused(client: Client) -> None:
    token = await client.token()
    for wrong in ({"format": "xml"}, {"events": ["tournament.started", "rain"]}):
        refusal = await refusal_of(create_webhook(client, token, url="http://127.0.0.1:1/", **wrong))
        assert refusal.fields() == [f"webhook.{name}" for name in wrong]


async def test_private_addresses_are_refused_at_the_creation(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        for url in ("http://localhost/", "http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/"):
            refusal = await refusal_of(create_webhook(client, token, url=url))
            assert "has no public address" in refusal.status.message
            assert "--allow-private-webhooks" in refusal.info.metadata["hint"]


async def test_one_owner_tests_few_webhooks_at_once(client: Client, receiver: Receiver) -> None:
    token, most = await client.token(), Limits().webhook_tests
    name = (await create_webhook(client, token, url=receiver.url)).webhook.name
    calls = [send_test(client, token, name) for _ in range(most + 1)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(answer, pb.Webhook) for answer in answers) == most
