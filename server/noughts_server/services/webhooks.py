"""WebhookService: the webhooks of the caller's owner; with the scope `admin`, also those of others by their names."""

import asyncio
import re
from functools import partial

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_proto.v1 import webhooks_pb2_grpc
from noughts_server.convert.webhooks import webhook_message
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import webhook_id
from noughts_server.runtime.public_addresses import LookupsBusy, find_addresses
from noughts_server.runtime.webhooks import FORMATS, TIMEOUT_SECONDS
from noughts_server.services.access import Access, Context, current_caller, open_to
from noughts_server.services.limiter import Limiter
from noughts_server.store.engine.database import Store
from noughts_server.store.people import webhooks
from noughts_server.store.people.webhooks import EVENTS

_URL = re.compile(r"https?://[A-Za-z0-9.:_\[\]-]+([/?][!-~]*)?")
_LONGEST_URL = 400
_TEST_CHECKS = 60
_CHECK_SECONDS = 0.25
"""A test of a webhook checks for a result this many times at this interval in seconds."""


class WebhookServicer(webhooks_pb2_grpc.WebhookServiceServicer):
    """Creates, lists, tests and deletes webhooks."""

    def __init__(self, store: Store, limiter: Limiter, *, private: bool) -> None:
        """With `private`, addresses that are not public are allowed."""
        self._store = store
        self._limiter = limiter
        self._private = private

    @open_to(Access.ORGANISE)
    async def CreateWebhook(self, request: pb.CreateWebhookRequest, context: Context) -> pb.CreateWebhookResponse:
        owner_id = current_caller().owner_id
        url = request.webhook.url
        format = request.webhook.format or "json"
        if format not in FORMATS:
            raise InvalidArgument.of("webhook.format", format, ", ".join(FORMATS))
        for event in request.webhook.events:
            if event not in EVENTS:
                raise InvalidArgument.of("webhook.events", event, ", ".join(EVENTS))
        await self._check_url(url, owner_id)
        create = partial(
            webhooks.create_webhook,
            owner_id=owner_id,
            url=url,
            format=format,
            events=" ".join(dict.fromkeys(request.webhook.events)),
            now_ms=self._store.now_ms(),
            limits=self._limiter.limits,
        )
        webhook = await self._store.write(create)
        return pb.CreateWebhookResponse(webhook=webhook_message(webhook), secret=webhook.secret)

    async def _check_url(self, url: str, owner_id: int) -> None:
        """Raise InvalidArgument unless requests can go to this address."""
        if not _URL.fullmatch(url) or len(url) > _LONGEST_URL:
            expected = f"http:// or https://, a host and a path, at most {_LONGEST_URL} characters"
            raise InvalidArgument.of("webhook.url", url, expected)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await find_addresses(url, private=self._private, owner_id=owner_id)
        except LookupsBusy as error:
            hint = "Try again in a minute."
            raise InvalidArgument.of(
                "webhook.url", f"{url} ({error})", "an address that is found", hint=hint
            ) from error
        except (OSError, ValueError) as error:
            hint = (
                "Use a public address and the port 80, 443 or one above 1024."
                " The operator can allow others: noughts serve --allow-private-webhooks"
            )
            got = f"{url} ({str(error) or 'its address is not found'})"
            raise InvalidArgument.of("webhook.url", got, "a public address", hint=hint) from error

    @open_to(Access.ORGANISE, reads=True)
    async def ListWebhooks(self, request: pb.ListWebhooksRequest, context: Context) -> pb.ListWebhooksResponse:
        rows = await self._store.read(partial(webhooks.list_webhooks, owner_id=current_caller().owner_id))
        return pb.ListWebhooksResponse(webhooks=map(webhook_message, rows))

    @open_to(Access.ORGANISE)
    async def TestWebhook(self, request: pb.TestWebhookRequest, context: Context) -> pb.TestWebhookResponse:
        key = webhook_id("name", request.name)
        caller = current_caller()
        queue = partial(webhooks.queue_test, webhook_id=key, now_ms=self._store.now_ms(), owner_id=caller.only_owner)
        with self._limiter.holding("webhook_tests", caller.owner_id, "concurrent tests of your webhooks"):
            await self._store.write(queue)
            for _ in range(_TEST_CHECKS):
                await asyncio.sleep(_CHECK_SECONDS)
                webhook = await self._store.read(partial(webhooks.get_webhook, webhook_id=key))
                if webhook.problem or not webhook.waiting:
                    break
        return pb.TestWebhookResponse(webhook=webhook_message(webhook))

    @open_to(Access.ORGANISE)
    async def DeleteWebhook(self, request: pb.DeleteWebhookRequest, context: Context) -> pb.DeleteWebhookResponse:
        key = webhook_id("name", request.name)
        owner = current_caller().only_owner
        await self._store.write(partial(webhooks.delete_webhook, webhook_id=key, owner_id=owner))
        return pb.DeleteWebhookResponse()
