"""The commands of `noughts db`, in the order of its help."""

from noughts_server.cli.commands.db import analyses, explorer, puzzles
from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Check, back up, upgrade, copy, export and prune databases, on the server's machine.",
    example="""
$ noughts db check --db games.db
1 tournament, 30 games, 3 ratings: nothing wrong
""",
    panels={
        "Commands": {
            "check": Command(
                "noughts_server.cli.commands.db.check:check",
                "Check a database: run SQLite's own check, replay each game, and recompute scores and ratings.",
            ),
            "backup": Command(
                "noughts_server.cli.commands.db.backup:backup",
                "Copy a database to one file, even while a server writes to it, and verify the copy.",
            ),
            "upgrade": Command(
                "noughts_server.cli.commands.db.upgrade:upgrade",
                "Create or migrate a database for this version, as a server does at its start.",
            ),
            "copy": Command(
                "noughts_server.cli.commands.db.copy:copy",
                "Copy a league from one database to another of any kind, and compare the two in full.",
            ),
            "export": Command(
                "noughts_server.cli.commands.db.export:export",
                "Write all games to Parquet files, one for each month in which games ended, with a data-set card.",
            ),
            "prune": Command(
                "noughts_server.cli.commands.db.prune:prune",
                "Delete old responses kept for repeated requests, and old notes on games that a bot lost through its "
                "own fault.",
            ),
            "runs": Command(
                "noughts_server.cli.commands.db.runs:runs",
                "List the runs of this machine that were interrupted, and delete old ones.",
            ),
            "explorer": explorer.GROUP,
            "puzzles": puzzles.GROUP,
            "analyses": analyses.GROUP,
        },
    },
)
