"""The command `noughts webhook test`."""

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.webhook.webhooks import IdArgument, webhook_document
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import webhook_name


@command(
    example="""
$ noughts webhook test 2
Webhook 2 received the test.
"""
)
def test(identifier: IdArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Send the event `webhook.test`, after the events that wait, and show whether it arrived."""
    with server.connected(token_needed=True) as client:
        request = pb.TestWebhookRequest(name=webhook_name(identifier))
        tested = client.call(client.webhooks.TestWebhook, request, seconds=30).webhook
    if tested.problem or tested.waiting:
        problem = tested.problem or f"{tested.waiting} events still wait"
        raise Problem(
            f"webhook {identifier} did not receive the test: {problem}",
            "Check the receiver. The server tries again; `noughts webhook list` shows the result.",
        )
    output.show(webhook_document(tested), f"Webhook {identifier} received the test.")
