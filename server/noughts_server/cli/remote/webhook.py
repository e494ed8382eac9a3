"""`noughts webhook`: addresses that receive the events of a server."""

from enum import StrEnum
from typing import Annotated

from typer import Argument, Option

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_server.cli import output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.errors import Problem
from noughts_server.cli.former_command import command
from noughts_server.core.resource_names import short, webhook_name

Payload = StrEnum("Payload", ["json", "discord", "slack"])
IdArgument = Annotated[int, Argument(metavar="ID", help="Number of the webhook in `noughts webhook list`")]


@command(
    example="""
$ noughts webhook create http://localhost:8080/hook --payload slack
Webhook 2. Keep its secret: it is not shown again.
...
"""
)
def create(
    url: Annotated[str, Argument(metavar="URL", help="Address that receives the events: `https://...`")],
    payload: Annotated[Payload, Option("--payload", help="Content of the requests")] = Payload.json,
    event: Annotated[
        list[str] | None, Option("--event", metavar="EVENT", help="Event to send (repeatable). Default: all")
    ] = None,
    at: AtServer = AtServer(),
) -> None:
    """Create a webhook. Its secret, the key of the signatures, is shown only once.

    It receives the events `tournament.started`, `tournament.stopped`, `tournament.resumed`, `tournament.finished`,
    `bot.withdrawn`, `match.decided` and `upset.record` of your tournaments and of those that your bots play in.
    """
    wanted = pb.Webhook(url=url, format=payload, events=event)
    with at.connected(token_needed=True) as client:
        made = client.call(client.webhooks.CreateWebhook, pb.CreateWebhookRequest(webhook=wanted))
    output.hint(f"Webhook {short(made.webhook.name)}. Keep its secret: it is not shown again.")
    output.show({**_document(made.webhook), "secret": made.secret}, made.secret)


@command(
    example="""
$ noughts webhook list
id  url...payload  events...waiting  dropped  failures  last problem
...
 1  http...json     all...
...
"""
)
def list_webhooks(at: AtServer) -> None:
    """List your webhooks with their undelivered events and their failures."""
    with at.connected(token_needed=True) as client:
        found = client.call(client.webhooks.ListWebhooks, pb.ListWebhooksRequest()).webhooks
    columns = (">id", "url", "payload", "events", ">waiting", ">dropped", ">failures", "last problem")
    names = ("waiting", "dropped", "failures", "problem")
    rows = [
        (short(row.name), row.url, row.format, " ".join(row.events) or "all", *printing.picked(row, *names).values())
        for row in found
    ]
    hint = "No webhooks yet. Create one: noughts webhook create URL"
    output.show_rows({"webhooks": list(map(_document, found))}, columns, rows, hint)


@command(
    example="""
$ noughts webhook test 2
Webhook 2 received the test.
"""
)
def test(identifier: IdArgument, at: AtServer) -> None:
    """Send the event `webhook.test`, after the events that wait, and show whether it arrived."""
    with at.connected(token_needed=True) as client:
        request = pb.TestWebhookRequest(name=webhook_name(identifier))
        tested = client.call(client.webhooks.TestWebhook, request, seconds=30).webhook
    if tested.problem or tested.waiting:
        problem = tested.problem or f"{tested.waiting} events still wait"
        raise Problem(
            f"webhook {identifier} did not receive the test: {problem}",
            "Check the receiver. The server tries again; `noughts webhook list` shows the result.",
        )
    output.show(_document(tested), f"Webhook {identifier} received the test.")


@command(
    example="""
$ noughts webhook delete 2
Webhook 2 is deleted.
"""
)
def delete(identifier: IdArgument, at: AtServer) -> None:
    """Delete a webhook and its undelivered events."""
    with at.connected(token_needed=True) as client:
        client.call(client.webhooks.DeleteWebhook, pb.DeleteWebhookRequest(name=webhook_name(identifier)))
    output.show({"id": identifier}, f"Webhook {identifier} is deleted.")


def _document(row: pb.Webhook) -> dict[str, object]:
    fields = printing.picked(row, "owner", "url", "waiting", "dropped", "failures", "problem")
    return {"id": int(short(row.name)), **fields, "payload": row.format, "events": list(row.events)}
