"""WebhookService: the webhooks of the caller's owner; with the scope `admin`, also those of others by their names."""

import asyncio
import re
from functools import partial

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_proto.v1 import webhooks_pb2_grpc
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import webhook_id, webhook_name
from noughts_server.messages.conversions import filled, timestamp
from noughts_server.runtime.public_addresses import LookupsBusy, find_addresses
from noughts_server.runtime.webhooks import FORMATS, TIMEOUT_SECONDS
from noughts_server.services.access import Access, Context, caller, open_to
from noughts_server.services.limiter import Limiter
from noughts_server.store.engine.database import Store
from noughts_server.store.people import webhooks
from noughts_server.store.people.webhooks import EVENTS, Webhook

_URL = re.compile(r"https?://[A-Za-z0-9.:_\[\]-]+([/?][!-~]*)?")
_LONGEST_URL = 400
_LOOKS, _PAUSE_SECONDS = 60, 0.25


class WebhookServicer(webhooks_pb2_grpc.WebhookServiceServicer):
    """Creates, lists, tests and deletes webhooks."""

    def __init__(self, store: Store, limiter: Limiter, *, private: bool) -> None:
        """With `private`, addresses that are not public are allowed."""
        self._store = store
        self._limiter = limiter
        self._private = private

    @open_to(Access.ORGANISE)
    async def CreateWebhook(self, request: pb.CreateWebhookRequest, context: Context) -> pb.CreateWebhookResponse:
        who, wanted, format = caller(), request.webhook, request.webhook.format or "json"
        for field, names, known in (("format", [format], FORMATS), ("events", wanted.events, EVENTS)):
            for name in names:
                if name not in known:
                    raise InvalidArgument.of(f"webhook.{field}", name, ", ".join(known))
        await self._check_url(wanted.url, who.owner_id)
        events, now = " ".join(dict.fromkeys(wanted.events)), self._store.now_ms()
        create = partial(webhooks.create_webhook, owner_id=who.owner_id, url=wanted.url, format=format, events=events)
        made = await self._store.write(partial(create, now_ms=now, limits=self._limiter.limits))
        return pb.CreateWebhookResponse(webhook=_message(made), secret=made.secret)

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
        found = await self._store.read(partial(webhooks.list_webhooks, owner_id=caller().owner_id))
        return pb.ListWebhooksResponse(webhooks=map(_message, found))

    @open_to(Access.ORGANISE)
    async def TestWebhook(self, request: pb.TestWebhookRequest, context: Context) -> pb.TestWebhookResponse:
        key, who = webhook_id("name", request.name), caller()
        queue = partial(webhooks.queue_test, webhook_id=key, now_ms=self._store.now_ms(), owner_id=who.only_owner)
        with self._limiter.holding("webhook_tests", who.owner_id, "concurrent tests of your webhooks"):
            await self._store.write(queue)
            for _ in range(_LOOKS):
                await asyncio.sleep(_PAUSE_SECONDS)
                webhook = await self._store.read(partial(webhooks.get_webhook, webhook_id=key))
                if webhook.problem or not webhook.waiting:
                    break
        return pb.TestWebhookResponse(webhook=_message(webhook))

    @open_to(Access.ORGANISE)
    async def DeleteWebhook(self, request: pb.DeleteWebhookRequest, context: Context) -> pb.DeleteWebhookResponse:
        key, owner = webhook_id("name", request.name), caller().only_owner
        await self._store.write(partial(webhooks.delete_webhook, webhook_id=key, owner_id=owner))
        return pb.DeleteWebhookResponse()


def _message(row: Webhook) -> pb.Webhook:
    """Return a webhook without its secret as a message."""
    values = {"name": webhook_name(row.id), "events": row.events.split(), "create_time": timestamp(row.created_at)}
    return filled(pb.Webhook, row, **values, problem=row.problem or "")
