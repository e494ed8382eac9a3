"""Groups of commands about files on this machine."""

from noughts_server.cli.commands import Command, Group
from noughts_server.cli.groups.panels import HERE

RECORDS = Group(
    "records",
    "Files of games: converted, checked, listed, shown, sampled.",
    panel=HERE,
    children=(
        Command(
            "convert",
            "local.records:convert",
            "Writes the games of a file or tournament in another format: JSON lines, SGF, psq, PGN tags, CSV.",
            (
                "noughts records convert games.jsonl games.sgf",
                "noughts records convert games.jsonl games.psq/",
                "noughts records convert tournaments/spring spring.pgn --db games.db",
            ),
        ),
        Command(
            "check",
            "local.records:check",
            "Plays every game of a file again by the rules and says what is wrong.",
            ("noughts records check games.jsonl",),
        ),
        Command(
            "list",
            "local.records:list_games",
            "The games of a file, or those of them that you ask for.",
            (
                "noughts records list games.jsonl --bot pascal --result lost",
                "noughts records list games.sgf --opening h8i9 --format json",
            ),
        ),
        Command(
            "show",
            "local.records:show",
            "One game: on a terminal step by step, else the board at its end and its moves.",
            ("noughts records show games.jsonl 7",),
            extra="server",
        ),
        Command(
            "sample",
            "local.records:sample",
            "Samples for training: each position with the side to move, what it played, and the result for that side.",
            ("noughts records sample games.jsonl samples.npz",),
            extra="server",
        ),
    ),
)

RULES = Group(
    "rules",
    "What the rules say: of positions in a file.",
    panel=HERE,
    children=(
        Command(
            "check",
            "local.rules:check",
            "Judges the last move of each line of a file: won, full, open, or illegal, and why it is forbidden.",
            (
                "noughts rules check positions.jsonl",
                'echo \'{"variant": "renju", "moves": [112, 113, 98]}\' | noughts rules check -',
            ),
        ),
    ),
)
