"""The command `noughts webhook list`."""

from noughts_proto.v1 import webhooks_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.webhook.webhooks import webhook_document
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts webhook list
id  url...payload  events...waiting  dropped  failures  last problem
...
 1  http...json     all...
...
"""
)
def list_webhooks(*, server: ServerOptions, output: OutputOptions) -> None:
    """List your webhooks with their undelivered events and their failures."""
    with server.connected(token_needed=True) as client:
        webhooks = client.call(client.webhooks.ListWebhooks, pb.ListWebhooksRequest()).webhooks
    columns = (">id", "url", "payload", "events", ">waiting", ">dropped", ">failures", "last problem")
    rows = [
        (
            short(webhook.name),
            webhook.url,
            webhook.format,
            " ".join(webhook.events) or "all",
            webhook.waiting,
            webhook.dropped,
            webhook.failures,
            webhook.problem,
        )
        for webhook in webhooks
    ]
    output.show_rows(
        {"webhooks": [webhook_document(webhook) for webhook in webhooks]},
        columns,
        rows,
        "No webhooks yet. Create one: noughts webhook create URL",
    )
