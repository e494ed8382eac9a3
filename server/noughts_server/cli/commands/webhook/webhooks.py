"""Common code of the commands of `noughts webhook`."""

from typing import Annotated

from typer import Argument

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_server.core.resource_names import short

IdArgument = Annotated[int, Argument(metavar="ID", help="Number of the webhook in `noughts webhook list`")]


def webhook_document(webhook: pb.Webhook) -> dict[str, object]:
    return {
        "id": int(short(webhook.name)),
        "owner": webhook.owner,
        "url": webhook.url,
        "waiting": webhook.waiting,
        "dropped": webhook.dropped,
        "failures": webhook.failures,
        "problem": webhook.problem,
        "payload": webhook.format,
        "events": list(webhook.events),
    }
