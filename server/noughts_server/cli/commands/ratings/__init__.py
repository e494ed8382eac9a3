"""The commands of `noughts ratings`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Maintain the rating lists of a database, and find suspicious results on a server.",
    example="""
$ noughts ratings rebuild --db games.db
30 games give 3 ratings.
All of them were correct; nothing was changed.
""",
    panels={
        "Commands": {
            "rebuild": Command(
                "noughts_server.cli.commands.ratings.rebuild:rebuild",
                "Recompute all ratings and their history from the stored games, and correct what differs.",
            ),
            "suspicious": Command(
                "noughts_server.cli.commands.ratings.suspicious:suspicious",
                "List rated results that look as if they were arranged.",
            ),
        },
    },
)
