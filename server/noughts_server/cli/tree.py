"""Every command: its name, where its function is, what the help says of it in a list, and examples.

To add one, write a function with a docstring in `bots/`, `local/`, `operator/` or `remote/`, declare its parameters as
in `parameters`, and name it here. The module is imported when the command is run.
"""

from noughts_server.cli.commands import Command, Group

_HERE = "On this machine"
_AT_A_SERVER = "At a server"
_BOTS = "Bots"
_SERVER = "Server"

_TOURNAMENT = Group(
    "tournament",
    "Tournaments: run one here, or organise one at a server.",
    panel=_AT_A_SERVER,
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
            panel=_AT_A_SERVER,
        ),
        Command(
            "join",
            "remote.tournament:join",
            "Enters bots, pinned at their newest versions. They must have logged in once.",
            ("noughts tournament join spring --bot mybot --bot other@2", "noughts tournament join spring --all-online"),
            panel=_AT_A_SERVER,
        ),
        Command(
            "withdraw",
            "remote.tournament:withdraw",
            "Takes an entry out. Of a tournament that has begun it loses the games that it has left.",
            ("noughts tournament withdraw spring mybot", "noughts tournament withdraw spring --bot mybot"),
            panel=_AT_A_SERVER,
        ),
        Command(
            "start",
            "remote.tournament:start",
            "Starts a tournament, or resumes one that is paused.",
            ("noughts tournament start spring",),
            panel=_AT_A_SERVER,
        ),
        Command(
            "extend",
            "remote.tournament:extend",
            "Adds games to a tournament that has begun, also one that is finished: it plays them at once.",
            ("noughts tournament extend spring --games 10", "noughts tournament extend swiss --rounds 1"),
            panel=_AT_A_SERVER,
        ),
        Command(
            "pause",
            "remote.tournament:pause",
            "Begins no new game; those running are finished. `start` goes on.",
            ("noughts tournament pause spring",),
            panel=_AT_A_SERVER,
        ),
        Command(
            "cancel",
            "remote.tournament:cancel",
            "Ends a tournament for good; what was played stays.",
            ("noughts tournament cancel spring",),
            panel=_AT_A_SERVER,
        ),
        Command(
            "show",
            "remote.tournament:show",
            "A tournament with its standings and its crosstable.",
            ("noughts tournament show spring", "noughts tournament show spring --format json"),
            panel=_AT_A_SERVER,
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
            panel=_HERE,
            extra="server",
        ),
        Command(
            "list",
            "remote.tournament:list_tournaments",
            "All tournaments, newest first.",
            ("noughts tournament list --limit 20", "noughts tournament list --challenges"),
            panel=_AT_A_SERVER,
        ),
        Command(
            "run",
            "local.tournament:run",
            "Plays a tournament on this machine, each bot a process of its own: reference bots, programs, plugins.",
            (
                "noughts tournament run random three-stage minimax --games 10 --seed 1",
                "noughts tournament run random nextstep:depth=3 --variant mnk:5,5,4 -o games.jsonl",
            ),
            panel=_HERE,
            extra="server",
        ),
        Command(
            "watch",
            "remote.watch:watch",
            "Shows a game or a tournament live, until it is over or Ctrl-C. Comes back by itself when the "
            "connection is lost.",
            ("noughts tournament watch spring",),
            panel=_AT_A_SERVER,
        ),
    ),
)

_GAME = Group(
    "game",
    "Games that were played at a server.",
    panel=_AT_A_SERVER,
    children=(
        Command(
            "list",
            "remote.game:list_games",
            "The games of a tournament, in slot order.",
            ("noughts game list spring --limit 20",),
        ),
        Command(
            "show",
            "remote.game:show",
            "One game: its moves, the board at its end, and why a bot failed, if one did.",
            ("noughts game show spring/7",),
        ),
    ),
)

_BOT_TABLE = Group(
    "table",
    "Tables: files of ratings that the bot `table` plays from.",
    children=(
        Command(
            "build",
            "bots.tables:build",
            "Writes what a bot makes of every position into a table, by which `table:file=FILE` plays exactly like it.",
            (
                "noughts bot table build pascal:level=1 -o pascal.table",
                "noughts bot table build minimax -o minimax.table --variant mnk:4,3,3",
            ),
        ),
    ),
)

_BOT = Group(
    "bot",
    "Bots: run one at a server, ask one about a position, see which there are.",
    panel=_BOTS,
    children=(
        Command(
            "run",
            "bots.bot:run",
            "Plays as a bot at a server until Ctrl-C; comes back by itself when the connection is lost.",
            (
                "NOUGHTS_TOKEN=... noughts bot run nextstep:depth=3 --name mybot",
                "noughts bot run random --server 127.0.0.1:7450 --token-file token.txt",
                "noughts bot run 'exec:python my_bot.py' --name mybot --token-file token.txt",
            ),
        ),
        Command(
            "ask",
            "bots.bot:ask",
            "Asks a bot for its move in each position on stdin, one a line.",
            (
                "echo 'X...O...X O' | noughts bot ask pascal:level=1",
                "noughts bot ask nextstep:depth=3 --format json < positions.txt",
            ),
        ),
        Command(
            "list",
            "bots.bot:list_bots",
            "The reference bots and their options, and those of installed packages; with --server the bots "
            "registered there.",
            ("noughts bot list", "noughts bot list --server 127.0.0.1:7450 --online"),
        ),
        Command(
            "rename",
            "bots.bot:rename",
            "Gives your bot another name. Entries keep their labels; from now on start the bot under the new name.",
            ("noughts bot rename mybot betterbot",),
        ),
        Command(
            "retire",
            "bots.bot:retire",
            "Takes your bot out of service: it cannot log in or enter tournaments any more. Its games and ratings "
            "stay.",
            ("noughts bot retire mybot", "noughts bot retire mybot --undo"),
        ),
        Command(
            "show",
            "bots.history:show",
            "One bot: whose it is, whether it is online or retired, its rating and record in each rating list.",
            ("noughts bot show careful",),
        ),
        Command(
            "history",
            "bots.history:history",
            "How a bot's rating went in one rating list, over the number of its rated games.",
            ("noughts bot history careful", "noughts bot history careful --time-class blitz"),
        ),
        Command(
            "games",
            "bots.history:games",
            "The games of a bot in all its versions: the newest tournament first, in each the highest number first.",
            ("noughts bot games careful --limit 20", "noughts bot games careful --opponent centre"),
        ),
        Command(
            "learn",
            "bots.tables:learn",
            "Trains the bot `learner`: plays games in this process and corrects its table after each.",
            (
                "noughts bot learn --file learnt.table --games 60000 --against random --curve curve.svg --seed 1",
                "noughts bot learn --file learnt.table --games 20000 --against self --against pascal:level=0",
            ),
        ),
        Command(
            "check",
            "bots.check:check",
            "Starts a bot as a referee does, plays a few games against random moves, and says what is wrong.",
            (
                "noughts bot check py:./centre.py:Centre",
                "noughts bot check dll{depth=3}:./player.so --variant connect4 --games 100",
            ),
        ),
        Command(
            "header",
            "bots.check:header",
            "Prints where the C header for bots in shared libraries lies: `noughts_bot.h`.",
            ("noughts bot header", "cc -shared -fPIC -I $(noughts bot header --folder) player.c"),
        ),
        Command(
            "gomocup",
            "bots.gomocup:gomocup",
            "Plays as a reference bot for any manager that speaks the Gomocup protocol, on stdin and stdout, until "
            "END.",
            (
                "noughts bot gomocup threats",
                "printf 'START 15\\nBEGIN\\nEND\\n' | noughts bot gomocup minimax:depth=2",
            ),
        ),
        _BOT_TABLE,
    ),
)

_TOKEN = Group(
    "token",
    "Tokens: who may run bots and organise tournaments. On the database, for the operator of the "
    "machine; with --server your own.",
    panel=_SERVER,
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

_RATINGS = Group(
    "ratings",
    "Rating lists. For the operator, on the server's machine.",
    panel=_SERVER,
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

_DATABASE = Group(
    "db",
    "Databases: checked, copied, pruned. For the operator, on the server's machine.",
    panel=_SERVER,
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
            "prune",
            "operator.db:prune",
            "Drops what nobody needs any more: old answers to requests, and old notes on games that a bot lost by a "
            "fault.",
            ("noughts db prune --dry-run", "noughts db prune --notes 30d --db games.db"),
            extra="server",
        ),
    ),
)

_RECORDS = Group(
    "records",
    "Files of games: converted, checked, listed, shown, sampled.",
    panel=_HERE,
    children=(
        Command(
            "convert",
            "local.records:convert",
            "Writes the games of a file in another format: JSON lines, SGF, Piskvork's psq, PGN tags, CSV.",
            ("noughts records convert games.jsonl games.sgf", "noughts records convert games.jsonl games.psq/"),
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

_RULES = Group(
    "rules",
    "What the rules say: of positions in a file.",
    panel=_HERE,
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
            panel=_HERE,
            extra="server",
        ),
        Command(
            "match",
            "local.tournament:match",
            "Plays A against B and estimates the difference in Elo.",
            ("noughts match pascal:level=1 nextstep:depth=3 --games 100 --concurrency 16 --seed 1",),
            panel=_HERE,
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
            panel=_HERE,
            extra="play",
        ),
        Command(
            "serve",
            "operator.serve:serve",
            "Runs a server until Ctrl-C: the first finishes the games that are running, the second stops at once.",
            ("noughts serve", "noughts serve --listen 127.0.0.1:0 --db games.db --format json"),
            panel=_SERVER,
            extra="server",
        ),
        Command(
            "web",
            "operator.web:web",
            "Shows a server's tournaments, games and ratings to browsers, live, until Ctrl-C.",
            ("noughts web", "noughts web --server games.example:7450 --tls --listen 127.0.0.1:7480"),
            panel=_SERVER,
            extra="web",
        ),
        Command(
            "leaderboard",
            "remote.leaderboard:leaderboard",
            "The bots of a rating list, strongest first. There is a list for each variant and time class.",
            ("noughts leaderboard --variant mnk:7,6,4", "noughts leaderboard --online --min-games 100"),
            panel=_AT_A_SERVER,
        ),
        Command(
            "rating-lists",
            "bots.history:rating_lists",
            "The rating lists of a server: one for each variant and time class that has had a rated tournament.",
            ("noughts rating-lists",),
            panel=_AT_A_SERVER,
        ),
        Command(
            "head-to-head",
            "bots.history:head_to_head",
            "What bot A has scored against bot B, in all their versions and tournaments, rated or not.",
            ("noughts head-to-head careful centre",),
            panel=_AT_A_SERVER,
        ),
        Command(
            "watch",
            "remote.watch:watch",
            "Shows a game or a tournament live, until it is over or Ctrl-C. Comes back by itself when the "
            "connection is lost.",
            ("noughts watch spring", "noughts watch spring/7", "noughts watch --format json"),
            panel=_AT_A_SERVER,
        ),
        Command(
            "status",
            "operator.status:status",
            "What a server is doing now: a screen that is refreshed each second, until Ctrl-C.",
            ("noughts status", "noughts status --once"),
            panel=_SERVER,
        ),
        Command(
            "health",
            "operator.health:health",
            "Asks the server's standard health service; exit code 0 if it serves, 1 if not.",
            ("noughts health --server 127.0.0.1:7450",),
            panel=_SERVER,
        ),
        Command(
            "challenge",
            "remote.challenge:challenge",
            "Plays a few unrated games against a bot that is online at a server, and estimates the difference in Elo.",
            (
                "noughts challenge bot:mybot --with nextstep:depth=3 --games 10",
                "noughts challenge bot:theirbot@2 --as mybot",
            ),
            panel=_AT_A_SERVER,
        ),
        Command(
            "report",
            "report:report",
            "Writes a tournament as one HTML file: tables, pictures, and games to click through on a board.",
            ("noughts report games.jsonl -o report", "noughts report spring -o public --title 'Spring cup'"),
            panel=_HERE,
            extra="server",
        ),
        Command(
            "variants",
            "local.variants:variants",
            "The variants that can be played: our own, and those of plugins that are installed.",
            ("noughts variants", "noughts variants --format json"),
            panel=_HERE,
        ),
        _RECORDS,
        Command(
            "rate",
            "local.rate:rate",
            "Computes ratings from all games of a file at once, with errors and with what moving first is worth.",
            ("noughts rate results.csv", "noughts rate games.jsonl --anchor minimax=2000 --format json"),
            panel=_HERE,
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
            panel=_HERE,
            extra="server",
        ),
        _RULES,
        _TOURNAMENT,
        _GAME,
        _BOT,
        _TOKEN,
        _RATINGS,
        _DATABASE,
    ),
)
