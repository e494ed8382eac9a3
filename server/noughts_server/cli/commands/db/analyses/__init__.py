"""The commands of `noughts db analyses`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Maintain the analyses of games.",
    example="""
$ noughts db analyses rebuild --db games.db
...
""",
    panels={
        "Commands": {
            "rebuild": Command(
                "noughts_server.cli.commands.db.analyses.rebuild:rebuild",
                "Analyse all games again that have a stored analysis.",
            ),
        },
    },
)
