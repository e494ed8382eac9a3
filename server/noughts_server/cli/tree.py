"""Every command: its name, where its function is, what the help says of it in a list, and examples.

To add one, write a function with a docstring in `bots/`, `local/`, `operator/` or `remote/`, declare its parameters as
in `parameters`, and name it here, or in its group in `groups/`. The module is imported when the command is run.
"""

from noughts_server.cli.commands import Command, Group
from noughts_server.cli.groups.bots import BOT
from noughts_server.cli.groups.local import RECORDS, RULES
from noughts_server.cli.groups.operator import COURSE, DATABASE, RATINGS, TOKEN
from noughts_server.cli.groups.panels import AT_A_SERVER, HERE, SERVER
from noughts_server.cli.groups.remote import GAME, TOURNAMENT

TREE = Group(
    "noughts",
    "Tournaments of bots that play k-in-a-row games: on this machine, or at a server that bots dial into.\n\n"
    "Commands print for people; with `--format json` they print one JSON document, or JSON lines. Exit codes: 0 done, "
    "1 failed, 2 wrong usage, 130 interrupted.",
    epilog="Begin with: noughts demo",
    children=(
        Command(
            "demo",
            "local.tournament:demo",
            "Plays a round robin of fourteen reference bots, each a process of its own, and shows who is best.",
            ("noughts demo",),
            panel=HERE,
            extra="server",
        ),
        Command(
            "match",
            "local.tournament:match",
            "Plays A against B and estimates the difference in Elo.",
            ("noughts match pascal:level=1 nextstep:depth=3 --games 100 --concurrency 16 --seed 1",),
            panel=HERE,
            extra="server",
        ),
        Command(
            "gym",
            "local.gym:gym",
            "A bot against a ladder of reference bots: its rating with an error, weakest variant, slowest moves.",
            ("noughts gym py:./my_bot.py:Mine", "noughts gym dll:./player.so --variants all --svg gym.svg"),
            panel=HERE,
            extra="server",
        ),
        Command(
            "play",
            "local.play:play",
            "Plays against a bot, or against another person, on a board in the terminal; unrated.",
            (
                "noughts play pascal:level=1",
                "noughts play person --variant mnk:15,15,5",
                "noughts play --with bot:rival --server 127.0.0.1:7450",
            ),
            panel=HERE,
            extra="play",
        ),
        Command(
            "serve",
            "operator.serve:serve",
            "Runs a server until Ctrl-C: the first finishes the games that are running, the second stops at once.",
            ("noughts serve", "noughts serve --listen 127.0.0.1:0 --db games.db --format json"),
            panel=SERVER,
            extra="server",
        ),
        Command(
            "referee",
            "operator.referee:referee",
            "Plays the games of a cluster until Ctrl-C: the first finishes those that are running, the second stops at "
            "once.",
            (
                "noughts referee --db postgresql+psycopg://noughts@db/noughts --bus nats://bus:4222",
                "noughts referee --db URL --bus URL --seats 8 --offers Wine=gomocup:./pbrain-wine",
            ),
            panel=SERVER,
            extra="cluster",
        ),
        Command(
            "nodes",
            "operator.nodes:nodes",
            "Shows the servers and referees of a cluster that live; exit code 1 if there are none.",
            ("noughts nodes --db postgresql+psycopg://noughts@db/noughts", "noughts nodes --db URL --here"),
            panel=SERVER,
            extra="server",
        ),
        Command(
            "web",
            "operator.web:web",
            "Shows a server's tournaments, games and ratings to browsers, live, until Ctrl-C.",
            ("noughts web", "noughts web --server games.example:7450 --tls --listen 127.0.0.1:7480"),
            panel=SERVER,
            extra="web",
        ),
        Command(
            "live",
            "operator.live:live",
            "Runs a server, its site and reference bots that go on playing, until Ctrl-C. Your bot may join them.",
            ("noughts live", "noughts live --pace 0.3 --db live.sqlite"),
            panel=SERVER,
            extra="web",
        ),
        Command(
            "leaderboard",
            "remote.leaderboard:leaderboard",
            "The bots of a rating list, strongest first. There is a list for each variant and time class.",
            ("noughts leaderboard --variant mnk:7,6,4", "noughts leaderboard --online --min-games 100"),
            panel=AT_A_SERVER,
        ),
        Command(
            "rating-lists",
            "bots.history:rating_lists",
            "The rating lists of a server: one for each variant and time class that has had a rated tournament.",
            ("noughts rating-lists",),
            panel=AT_A_SERVER,
        ),
        Command(
            "head-to-head",
            "bots.history:head_to_head",
            "What bot A has scored against bot B, in all their versions and tournaments, rated or not.",
            ("noughts head-to-head careful centre",),
            panel=AT_A_SERVER,
        ),
        Command(
            "watch",
            "remote.watch:watch",
            "Shows a game or a tournament live, until it is over or Ctrl-C. Comes back by itself when the "
            "connection is lost.",
            ("noughts watch spring", "noughts watch spring/7", "noughts watch --format json"),
            panel=AT_A_SERVER,
        ),
        Command(
            "status",
            "operator.status:status",
            "What a server is doing now: a screen that is refreshed each second, until Ctrl-C.",
            ("noughts status", "noughts status --once"),
            panel=SERVER,
        ),
        Command(
            "health",
            "operator.health:health",
            "Asks the server's standard health service; exit code 0 if it serves, 1 if not.",
            ("noughts health --server 127.0.0.1:7450",),
            panel=SERVER,
        ),
        Command(
            "challenge",
            "remote.challenge:challenge",
            "Plays a few unrated games against a bot that is online at a server, and estimates the difference in Elo.",
            (
                "noughts challenge bot:mybot --with nextstep:depth=3 --games 10",
                "noughts challenge bot:theirbot@2 --as mybot",
            ),
            panel=AT_A_SERVER,
        ),
        Command(
            "report",
            "report:report",
            "Writes a tournament as one HTML file: tables, pictures, and games to click through on a board.",
            ("noughts report games.jsonl -o report", "noughts report spring -o public --title 'Spring cup'"),
            panel=HERE,
            extra="server",
        ),
        Command(
            "variants",
            "local.variants:variants",
            "The variants that can be played: our own, and those of plugins that are installed.",
            ("noughts variants", "noughts variants --format json"),
            panel=HERE,
        ),
        RECORDS,
        Command(
            "rate",
            "local.rate:rate",
            "Computes ratings from all games of a file or tournament, with errors and the first-move advantage.",
            ("noughts rate results.csv", "noughts rate games.jsonl --anchor minimax=2000 --format json"),
            panel=HERE,
            extra="server",
        ),
        Command(
            "sprt",
            "local.sprt:sprt",
            "The generalised sequential probability ratio test: from counts of results, or how many games it will "
            "take.",
            (
                "noughts sprt --wins 120 --draws 300 --losses 90 --elo0 0 --elo1 10",
                "noughts sprt --penta 10,100,250,120,20 --model normalized",
                "noughts sprt --elo1 10 --plan 5 --draw-rate 0.3",
            ),
            panel=HERE,
            extra="server",
        ),
        RULES,
        TOURNAMENT,
        GAME,
        BOT,
        TOKEN,
        COURSE,
        RATINGS,
        DATABASE,
    ),
)
