"""The commands of `noughts db explorer`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Maintain the opening explorer.",
    example="""
$ noughts db explorer rebuild --db games.db
30 games counted
""",
    panels={
        "Commands": {
            "rebuild": Command(
                "noughts_server.cli.commands.db.explorer.rebuild:rebuild",
                "Recount all games for the opening explorer.",
            ),
        },
    },
)
