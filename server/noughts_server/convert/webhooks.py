"""Protocol messages of webhooks."""

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_server.convert.times import timestamp
from noughts_server.core.resource_names import webhook_name
from noughts_server.store.people.webhooks import Webhook


def webhook_message(webhook: Webhook) -> pb.Webhook:
    """Return a webhook without its secret."""
    return pb.Webhook(
        name=webhook_name(webhook.id),
        owner=webhook.owner,
        url=webhook.url,
        format=webhook.format,
        events=webhook.events.split(),
        create_time=timestamp(webhook.created_at),
        failures=webhook.failures,
        problem=webhook.problem or "",
        waiting=webhook.waiting,
        dropped=webhook.dropped,
    )
