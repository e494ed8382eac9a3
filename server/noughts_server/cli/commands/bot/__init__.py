"""The commands of `noughts bot`, in the order of its help."""

from noughts_server.cli.commands.bot import table
from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Write, check, run, submit and look up bots.",
    example="""
$ noughts bot new mybot
...
mybot/bot.py
Next: cd mybot && make check

$ noughts bot check py:mybot/bot.py --no-steps
py:mybot/bot.py: 10 games of tictactoe against random moves: 8 won, ...
...
Nothing is wrong.
""",
    panels={
        "Commands": {
            "new": Command(
                "noughts_server.cli.commands.bot.new:new",
                "Create a small project with a working bot: its source, a check, CI and a README.",
            ),
            "check": Command(
                "noughts_server.cli.commands.bot.check:check",
                "Start a bot the way a referee does, play a few games against random moves, and report faults.",
            ),
            "run": Command(
                "noughts_server.cli.commands.bot.run:run",
                "Play as one or more bots on a server, until Ctrl-C; reconnects if the connection is lost.",
            ),
            "submit": Command(
                "noughts_server.cli.commands.bot.submit:submit",
                "Submit a bot as a file or a folder.",
            ),
            "ask": Command(
                "noughts_server.cli.commands.bot.ask:ask",
                "Print a bot's move in each position on stdin, one position per line.",
            ),
            "list": Command(
                "noughts_server.cli.commands.bot.list:list_bots",
                "List reference bots and installed bots; with --server or NOUGHTS_SERVER, registered bots.",
            ),
            "show": Command(
                "noughts_server.cli.commands.bot.show:show",
                "Show one bot: owner, state, and its rating and record in each rating list.",
            ),
            "history": Command(
                "noughts_server.cli.commands.bot.history:history",
                "Plot a bot's rating in one rating list against its number of rated games.",
            ),
            "games": Command(
                "noughts_server.cli.commands.bot.games:games",
                "List the games of all versions of a bot: newest tournament first, then highest number first.",
            ),
            "mistakes": Command(
                "noughts_server.cli.commands.bot.mistakes:mistakes",
                "List the positions in which a bot made the value of its games worse, newest tournament first.",
            ),
            "register": Command(
                "noughts_server.cli.commands.bot.register:register",
                "Register a bot that has not connected yet, so that you can enter it in tournaments.",
            ),
            "rename": Command(
                "noughts_server.cli.commands.bot.rename:rename",
                "Rename your bot.",
            ),
            "retire": Command(
                "noughts_server.cli.commands.bot.retire:retire",
                "Retire your bot: it can no longer log in or enter tournaments.",
            ),
            "learn": Command(
                "noughts_server.cli.commands.bot.learn:learn",
                "Train the bot `learner`: play games in this process and correct its table after each.",
            ),
            "header": Command(
                "noughts_server.cli.commands.bot.header:header",
                "Print the path of the C header for bots in shared libraries: `noughts_bot.h`.",
            ),
            "gomocup": Command(
                "noughts_server.cli.commands.bot.gomocup:gomocup",
                "Play as a reference bot for any manager that speaks the Gomocup protocol, on stdin and stdout.",
            ),
            "table": table.GROUP,
        },
    },
)
