"""The commands of `noughts token`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Create, list and revoke tokens in a database, or your own tokens on a server (--server).",
    example="""
$ noughts token create --owner alice --db games.db
Token 1 of alice: play organise. Keep it: it is not shown again.
nou_SOSlLI4wcpcP7_mIuyA3l5-XQhKliT0h
""",
    panels={
        "Commands": {
            "create": Command(
                "noughts_server.cli.commands.token.create:create",
                "Create a token.",
            ),
            "list": Command(
                "noughts_server.cli.commands.token.list:list_tokens",
                "List tokens without their secrets.",
            ),
            "revoke": Command(
                "noughts_server.cli.commands.token.revoke:revoke",
                "Revoke a token.",
            ),
        },
    },
)
