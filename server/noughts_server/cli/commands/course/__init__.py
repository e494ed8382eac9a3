"""The commands of `noughts course`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Run a league for a class, with a tournament each night.",
    example="""
$ noughts course init ai-102 --students class.csv --games 4
ai-102: 2 students, connect4 each night at 02:00.
...
Next: noughts course serve ai-102
""",
    panels={
        "Commands": {
            "init": Command(
                "noughts_server.cli.commands.course.init:init",
                "Create a league for a class: a token for each student, a nightly tournament, instructions.",
            ),
            "serve": Command(
                "noughts_server.cli.commands.course.serve:serve",
                "Run the course's server until Ctrl-C, with a tournament of all bots each night.",
            ),
            "add": Command(
                "noughts_server.cli.commands.course.add:add",
                "Add students who join a course late: a token for each, in tokens.csv.",
            ),
            "night": Command(
                "noughts_server.cli.commands.course.night:night",
                "Start a tournament of all submitted bots now, as `course serve` does each night.",
            ),
            "report": Command(
                "noughts_server.cli.commands.course.report:report",
                "Write a page for each student about the latest nightly tournament: rank, points, opponents, faults.",
            ),
        },
    },
)
