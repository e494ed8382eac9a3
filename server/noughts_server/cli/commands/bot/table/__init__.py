"""The commands of `noughts bot table`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Write the files that the bot `table` plays from.",
    example="""
$ noughts bot table build pascal:level=1 -o pascal.table
pascal.table: 4,520 positions of tictactoe.
table:file=pascal.table plays exactly like pascal:level=1.
""",
    panels={
        "Commands": {
            "build": Command(
                "noughts_server.cli.commands.bot.table.build:build",
                "Write a table of a bot's moves in every position; `table:file=FILE` then plays the same moves.",
            ),
        },
    },
)
