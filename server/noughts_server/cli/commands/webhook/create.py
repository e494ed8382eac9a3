"""The command `noughts webhook create`."""

from enum import StrEnum
from typing import Annotated

from typer import Argument, Option

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.webhook.webhooks import webhook_document
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short


class Payload(StrEnum):
    JSON = "json"
    DISCORD = "discord"
    SLACK = "slack"


@command(
    example="""
$ noughts webhook create http://localhost:8080/hook --payload slack
Webhook 2. Keep its secret: it is not shown again.
...
"""
)
def create(
    url: Annotated[str, Argument(metavar="URL", help="Address that receives the events: `https://...`")],
    payload: Annotated[Payload, Option("--payload", help="Content of the requests")] = Payload.JSON,
    event: Annotated[
        list[str] | None, Option("--event", metavar="EVENT", help="Event to send (repeatable). Default: all")
    ] = None,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Create a webhook. Its secret, the key of the signatures, is shown only once.

    It receives the events `tournament.started`, `tournament.stopped`, `tournament.resumed`, `tournament.finished`,
    `bot.withdrawn`, `match.decided` and `upset.record` of your tournaments and of those that your bots play in.
    """
    request = pb.CreateWebhookRequest(webhook=pb.Webhook(url=url, format=payload, events=event))
    with server.connected(token_needed=True) as client:
        created = client.call(client.webhooks.CreateWebhook, request)
    output.hint(f"Webhook {short(created.webhook.name)}. Keep its secret: it is not shown again.")
    output.show({**webhook_document(created.webhook), "secret": created.secret}, created.secret)
