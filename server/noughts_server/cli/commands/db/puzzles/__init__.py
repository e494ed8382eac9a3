"""The commands of `noughts db puzzles`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Maintain the puzzles.",
    example="""
$ noughts db puzzles rebuild --db games.db
...
""",
    panels={
        "Commands": {
            "rebuild": Command(
                "noughts_server.cli.commands.db.puzzles.rebuild:rebuild",
                "Search all games for puzzles again.",
            ),
        },
    },
)
