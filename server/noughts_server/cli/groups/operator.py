"""Groups of commands for operators."""

from noughts_server.cli.commands import Command, Group
from noughts_server.cli.groups.panels import SERVER

COURSE = Group(
    "course",
    "Courses: a league for a class, whose bots meet each night.",
    panel=SERVER,
    children=(
        Command(
            "init",
            "operator.course:init",
            "Writes a league for a class: a token for each student, a nightly tournament, a page of instructions.",
            ("noughts course init ai-101 --class class.csv --variant connect4 --closes 2026-12-18T23:59",),
        ),
        Command(
            "serve",
            "operator.course:serve",
            "Runs the course's server until Ctrl-C, and plays a tournament of all bots each night.",
            ("noughts course serve ai-101",),
        ),
        Command(
            "add",
            "operator.course:add",
            "Adds late students to a course: a token for each, in tokens.csv.",
            ("noughts course add ai-101 zoe",),
        ),
        Command(
            "night",
            "operator.course:night",
            "Begins a tournament of all bots that were handed in, now: `course serve` does so each night.",
            ("noughts course night ai-101",),
        ),
        Command(
            "report",
            "operator.course:report",
            "Writes a page for each student about the newest night: rank, points, whom they met, what went wrong.",
            ("noughts course report ai-101",),
        ),
    ),
)

TOKEN = Group(
    "token",
    "Tokens: who may run bots and organise tournaments. On the database, for the operator of the "
    "machine; with --server your own.",
    panel=SERVER,
    children=(
        Command(
            "create",
            "operator.token:create",
            "Makes a token. Its secret is shown this once; the database keeps only a hash.",
            (
                "noughts token create --owner alice",
                "noughts token create --owner alice --scope play:mybot --expires 30d",
                "NOUGHTS_TOKEN=... noughts token create --server 127.0.0.1:7450 --scope play:mybot",
            ),
        ),
        Command(
            "list",
            "operator.token:list_tokens",
            "All tokens, without their secrets; at a server yours, with scope `admin` everybody's.",
            ("noughts token list", "NOUGHTS_TOKEN=... noughts token list --server 127.0.0.1:7450"),
        ),
        Command(
            "revoke",
            "operator.token:revoke",
            "Makes a token worthless. Bots that are logged in with it are sent away within a second and lose their "
            "games.",
            ("noughts token revoke 3", "noughts token revoke 3 --server 127.0.0.1:7450"),
        ),
    ),
)

RATINGS = Group(
    "ratings",
    "Rating lists. For the operator, on the server's machine.",
    panel=SERVER,
    children=(
        Command(
            "rebuild",
            "operator.ratings:rebuild",
            "Computes all ratings and their history again from the stored games and corrects what differs.",
            ("noughts ratings rebuild", "noughts ratings rebuild --db games.db --format json"),
            extra="server",
        ),
    ),
)

DATABASE = Group(
    "db",
    "Databases: checked, copied, pruned. For the operator, on the server's machine.",
    panel=SERVER,
    children=(
        Command(
            "check",
            "operator.db:check",
            "Checks a database: SQLite's own check; every slot; every game by the rules; scores; ratings against a "
            "rebuild.",
            ("noughts db check", "noughts db check --db games.db --format json"),
            extra="server",
        ),
        Command(
            "backup",
            "operator.db:backup",
            "Copies a database to one file, also while a server writes it, and reads the copy again.",
            ("noughts db backup copy.db", "noughts db backup copy.db --db games.db"),
            extra="server",
        ),
        Command(
            "copy",
            "operator.db:copy",
            "Copies a league from one database to another, of whatever kind, and compares all of it.",
            ("noughts db copy games.db postgresql://noughts@localhost/noughts",),
            extra="server",
        ),
        Command(
            "prune",
            "operator.db:prune",
            "Drops what nobody needs any more: old answers to requests, and old notes on games that a bot lost by a "
            "fault.",
            ("noughts db prune --dry-run", "noughts db prune --notes 30d --db games.db"),
            extra="server",
        ),
    ),
)
