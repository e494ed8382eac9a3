"""The commands of `noughts puzzle`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="List and export puzzles: positions of games in which exactly one move wins.",
    example="""
$ noughts puzzle list --limit 2
...
$ noughts puzzle export -o puzzles.jsonl
...
""",
    panels={
        "Commands": {
            "list": Command(
                "noughts_server.cli.commands.puzzle.list:list_puzzles",
                "List the puzzles of a server by variant and by moves to the win.",
            ),
            "export": Command(
                "noughts_server.cli.commands.puzzle.export:export",
                "Write puzzles to a file, one JSON document per line, on which `noughts bot check` tests a bot.",
            ),
        },
    },
)
