"""Groups of commands that talk to a server."""

from noughts_server.cli.commands import Command, Group
from noughts_server.cli.groups.panels import AT_A_SERVER, HERE

TOURNAMENT = Group(
    "tournament",
    "Tournaments: run one here, or organise one at a server.",
    panel=AT_A_SERVER,
    children=(
        Command(
            "create",
            "remote.tournament:create",
            "Creates a tournament that bots can join.",
            (
                "noughts tournament create spring --games 10 --seed 1",
                "noughts tournament create fives --variant mnk:15,15,5 --time 60+0.5 --title 'Five in a row'",
                "noughts tournament create tonight --start-at +10m --min-entries 4 --max-entries 16",
            ),
            panel=AT_A_SERVER,
        ),
        Command(
            "join",
            "remote.tournament:join",
            "Enters bots, pinned at their newest versions. They must have logged in once.",
            ("noughts tournament join spring --bot mybot --bot other@2", "noughts tournament join spring --all-online"),
            panel=AT_A_SERVER,
        ),
        Command(
            "withdraw",
            "remote.tournament:withdraw",
            "Takes an entry out. Of a tournament that has begun it loses the games that it has left.",
            ("noughts tournament withdraw spring mybot", "noughts tournament withdraw spring --bot mybot"),
            panel=AT_A_SERVER,
        ),
        Command(
            "start",
            "remote.tournament:start",
            "Starts a tournament, or resumes one that is paused.",
            ("noughts tournament start spring",),
            panel=AT_A_SERVER,
        ),
        Command(
            "extend",
            "remote.tournament:extend",
            "Adds games to a tournament that has begun, also one that is finished: it plays them at once.",
            ("noughts tournament extend spring --games 10", "noughts tournament extend swiss --rounds 1"),
            panel=AT_A_SERVER,
        ),
        Command(
            "pause",
            "remote.tournament:pause",
            "Begins no new game; those running are finished. `start` goes on.",
            ("noughts tournament pause spring",),
            panel=AT_A_SERVER,
        ),
        Command(
            "cancel",
            "remote.tournament:cancel",
            "Ends a tournament for good; what was played stays.",
            ("noughts tournament cancel spring",),
            panel=AT_A_SERVER,
        ),
        Command(
            "show",
            "remote.tournament:show",
            "A tournament with its standings and its crosstable.",
            ("noughts tournament show spring", "noughts tournament show spring --format json"),
            panel=AT_A_SERVER,
        ),
        Command(
            "verify",
            "remote.tournament_verify:verify",
            "Checks the draw of a tournament that has ended, from what everybody can read.",
            ("noughts tournament verify spring",),
            panel=AT_A_SERVER,
        ),
        Command(
            "tables",
            "tables:tables",
            "Standings with tie-breaks, crosstable, by side, termination and opening, move times.",
            (
                "noughts tournament tables games.jsonl",
                "noughts tournament tables cup.db --kind openings --format csv",
                "noughts tournament tables spring --kind standings --format markdown",
            ),
            panel=HERE,
            extra="server",
        ),
        Command(
            "list",
            "remote.tournament:list_tournaments",
            "All tournaments, newest first.",
            ("noughts tournament list --limit 20", "noughts tournament list --challenges"),
            panel=AT_A_SERVER,
        ),
        Command(
            "run",
            "local.tournament:run",
            "Plays a tournament on this machine, each bot a process of its own: reference bots, programs, plugins.",
            (
                "noughts tournament run random three-stage minimax --games 10 --seed 1",
                "noughts tournament run random nextstep:depth=3 --variant mnk:5,5,4 -o games.jsonl",
            ),
            panel=HERE,
            extra="server",
        ),
        Command(
            "watch",
            "remote.watch:watch",
            "Shows a game or a tournament live, until it is over or Ctrl-C. Comes back by itself when the "
            "connection is lost.",
            ("noughts tournament watch spring",),
            panel=AT_A_SERVER,
        ),
    ),
)

GAME = Group(
    "game",
    "Games that were played at a server.",
    panel=AT_A_SERVER,
    children=(
        Command(
            "list",
            "remote.game:list_games",
            "The games of a tournament, in slot order.",
            ("noughts game list spring --limit 20", "noughts game list spring --bot centre --result loss --fault"),
        ),
        Command(
            "show",
            "remote.game:show",
            "One game: its moves, the board at its end, and why a bot failed, if one did.",
            ("noughts game show spring/7",),
        ),
    ),
)
