"""The commands of `noughts webhook`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Let a server report events to your own address, Discord or Slack.",
    example="""
$ noughts webhook create http://localhost:8080/hook
...
$ noughts webhook test 1
Webhook 1 received the test.
""",
    panels={
        "Commands": {
            "create": Command(
                "noughts_server.cli.commands.webhook.create:create",
                "Create a webhook.",
            ),
            "list": Command(
                "noughts_server.cli.commands.webhook.list:list_webhooks",
                "List your webhooks with their undelivered events and their failures.",
            ),
            "test": Command(
                "noughts_server.cli.commands.webhook.test:test",
                "Send the event `webhook.test`, after the events that wait, and show whether it arrived.",
            ),
            "delete": Command(
                "noughts_server.cli.commands.webhook.delete:delete",
                "Delete a webhook and its undelivered events.",
            ),
        },
    },
)
