"""The commands of `noughts invite`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Create, list and revoke invitations in a database, or at a server (--server, with the scope `admin`).",
    example="""
$ noughts invite create --uses 30 --expires 7d --db games.db
Invitation 1: 30 uses, ... Keep the link: it is not shown again.
http://127.0.0.1:7480/invite#inv_...
""",
    panels={
        "Commands": {
            "create": Command(
                "noughts_server.cli.commands.invite.create:create",
                "Create an invitation, and print its link.",
            ),
            "list": Command(
                "noughts_server.cli.commands.invite.list:list_invitations",
                "List invitations without their secrets, and who has registered.",
            ),
            "revoke": Command(
                "noughts_server.cli.commands.invite.revoke:revoke",
                "Revoke an invitation.",
            ),
        },
    },
)
