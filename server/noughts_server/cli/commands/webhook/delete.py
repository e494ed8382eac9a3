"""The command `noughts webhook delete`."""

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.webhook.webhooks import IdArgument
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import webhook_name


@command(
    example="""
$ noughts webhook delete 2
Webhook 2 is deleted.
"""
)
def delete(identifier: IdArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Delete a webhook and its undelivered events."""
    with server.connected(token_needed=True) as client:
        client.call(client.webhooks.DeleteWebhook, pb.DeleteWebhookRequest(name=webhook_name(identifier)))
    output.show({"id": identifier}, f"Webhook {identifier} is deleted.")
