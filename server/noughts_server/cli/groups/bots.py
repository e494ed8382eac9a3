"""Groups of commands about bots."""

from noughts_server.cli.commands import Command, Group
from noughts_server.cli.groups.panels import BOTS

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

BOT = Group(
    "bot",
    "Bots: run one at a server, ask one about a position, see which there are.",
    panel=BOTS,
    children=(
        Command(
            "run",
            "bots.run:run",
            "Plays as a bot at a server, or as several, until Ctrl-C; reconnects when the connection is lost.",
            (
                "NOUGHTS_TOKEN=... noughts bot run nextstep:depth=3 --name mybot",
                "noughts bot run random --server 127.0.0.1:7450 --token-file token.txt",
                "noughts bot run 'exec:python my_bot.py' --name mybot --token-file token.txt",
                "noughts bot run left=minimax right=nextstep:depth=3",
                "noughts bot run --config bots.toml",
            ),
        ),
        Command(
            "submit",
            "bots.submit:submit",
            "Hands a bot in as a file or a folder: the server tries it, and plays it whenever a tournament needs it.",
            (
                "noughts bot submit player.wasm --name mybot",
                "noughts bot submit my_bot.py --name mybot --enter cup",
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
            "register",
            "bots.bot:register",
            "Registers a bot that has not connected yet, so that you can enter it in tournaments.",
            ("noughts bot register mybot", "noughts bot register mybot --version 2"),
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
            "new",
            "bots.new:new",
            "Writes a small project with a bot that plays: its source, a check, CI and a README.",
            ("noughts bot new mybot", "noughts bot new mybot --language rust"),
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
