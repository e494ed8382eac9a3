"""The commands of `noughts test`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Test a bot version against another one on a server.",
    example="""
$ noughts test create mybot rival --sprt elo0=0,elo1=200 --seed 1
...
$ noughts test wait mybot-1-vs-rival-1
...tests/mybot-1-vs-rival-1: mybot@1 against rival@1
finished, ... games played
...
mybot against rival: H1 accepted
Elo   | ...
LLR   | ... (-2.94, 2.94) [0.00, 200.00]
...
""",
    panels={
        "Commands": {
            "create": Command(
                "noughts_server.cli.commands.test.create:create",
                "Create a test and start it: unrated pairs of games until a sequential test is decided.",
            ),
            "list": Command(
                "noughts_server.cli.commands.test.list:list_tests",
                "List the queue of tests: running ones by priority and age, then stopped ones, then the last to end.",
            ),
            "show": Command(
                "noughts_server.cli.commands.test.show:show",
                "Show a test with its statistics.",
            ),
            "stop": Command(
                "noughts_server.cli.commands.test.stop:stop",
                "Stop a test: running games finish, no new ones start. `test resume` continues it.",
            ),
            "resume": Command(
                "noughts_server.cli.commands.test.resume:resume",
                "Resume a stopped test.",
            ),
            "wait": Command(
                "noughts_server.cli.commands.test.wait:wait",
                "Wait until a test is over or stopped, then show it.",
            ),
        },
    },
)
