"""The commands of `noughts rules`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Apply the rules to positions in a file.",
    example="""
$ noughts rules check positions.jsonl
{"outcome":"line","kind":null,"ply":5}
{"outcome":"illegal_move","kind":null,"ply":2}
""",
    panels={
        "Commands": {
            "check": Command(
                "noughts_server.cli.commands.rules.check:check",
                "Judge the last move on each line of a file: won, full, open, or illegal with the reason.",
            ),
        },
    },
)
