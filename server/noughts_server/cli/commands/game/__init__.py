"""The commands of `noughts game`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="List, show and explain games on a server.",
    example="""
$ noughts game list autumn --bot rival --result loss --limit 2
...
#  first  second  result  termination  plies  last moves
...
1  mybot  rival   1-0     line             7  c3 a1 b3 b1
2  rival  mybot   0-1     line             8  a1 a3 b1 c1
""",
    panels={
        "Commands": {
            "list": Command(
                "noughts_server.cli.commands.game.list:list_games",
                "List the games of a tournament in numerical order.",
            ),
            "show": Command(
                "noughts_server.cli.commands.game.show:show",
                "Show one game: its moves, its last position, and the cause of a bot's fault.",
            ),
            "explain": Command(
                "noughts_server.cli.commands.game.explain:explain",
                "Report the moves that turned a game: those that made its value worse for the mover, in order.",
            ),
        },
    },
)
