"""The commands of `noughts records`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Convert, check, list, show, sample and judge game files.",
    example="""
$ noughts records convert games.jsonl games.psq/
30 games from games.jsonl to games.psq/.
""",
    panels={
        "Commands": {
            "convert": Command(
                "noughts_server.cli.commands.records.convert:convert",
                "Convert the games in a file or tournament: JSON lines, SGF, psq, Parquet, PGN tags, CSV.",
            ),
            "check": Command(
                "noughts_server.cli.commands.records.check:check",
                "Replay every game in a file according to the rules and report errors.",
            ),
            "list": Command(
                "noughts_server.cli.commands.records.list:list_games",
                "List the games in a file, or a selection of them.",
            ),
            "show": Command(
                "noughts_server.cli.commands.records.show:show",
                "Show one game: step by step on a terminal, otherwise its last position and its moves.",
            ),
            "sample": Command(
                "noughts_server.cli.commands.records.sample:sample",
                "Write training samples: each position, the side to move, its move, and the result for that side.",
            ),
            "accuracy": Command(
                "noughts_server.cli.commands.records.accuracy:accuracy",
                "Count how often each bot kept the exact value of its games.",
            ),
        },
    },
)
