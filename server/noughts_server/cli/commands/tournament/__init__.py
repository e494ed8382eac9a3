"""The commands of `noughts tournament`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Run a tournament on this machine, or organise one on a server.",
    example="""
$ noughts tournament run random minimax Mine=py:my_bot.py --seed 1
...
#  bot      points  wins  draws  losses  rating
...
1  minimax       3     2      2       0    1536
2  Mine         2½     2      1       1    1520
3  random        ½     0      1       3    1444
...
""",
    panels={
        "Local games": {
            "run": Command(
                "noughts_server.cli.commands.tournament.run:run",
                "Play a tournament on this machine, each bot in its own process: reference bots, programs, plugins.",
            ),
            "tables": Command(
                "noughts_server.cli.commands.tournament.tables:tables",
                "Show standings with tie-breaks, crosstable, pairings, and results by side, termination and opening.",
            ),
        },
        "Use a server": {
            "create": Command(
                "noughts_server.cli.commands.tournament.create:create",
                "Create a tournament that bots can join.",
            ),
            "join": Command(
                "noughts_server.cli.commands.tournament.join:join",
                "Enter bots, pinned to their newest versions.",
            ),
            "withdraw": Command(
                "noughts_server.cli.commands.tournament.withdraw:withdraw",
                "Withdraw an entry.",
            ),
            "start": Command(
                "noughts_server.cli.commands.tournament.start:start",
                "Start a tournament, or resume a paused one.",
            ),
            "extend": Command(
                "noughts_server.cli.commands.tournament.extend:extend",
                "Add games to a tournament that is running or finished.",
            ),
            "pause": Command(
                "noughts_server.cli.commands.tournament.pause:pause",
                "Pause a tournament: running games finish, no new ones start. `tournament start` resumes it.",
            ),
            "cancel": Command(
                "noughts_server.cli.commands.tournament.cancel:cancel",
                "Cancel a tournament permanently; finished games are kept.",
            ),
            "wait": Command(
                "noughts_server.cli.commands.tournament.wait:wait",
                "Wait until a tournament is over, then show it.",
            ),
            "show": Command(
                "noughts_server.cli.commands.tournament.show:show",
                "Show a tournament with its standings and its crosstable.",
            ),
            "verify": Command(
                "noughts_server.cli.commands.tournament.verify:verify",
                "Verify the seed commitment of a tournament that has ended, from public data.",
            ),
            "list": Command(
                "noughts_server.cli.commands.tournament.list:list_tournaments",
                "List all tournaments, newest first.",
            ),
            "seasons": Command(
                "noughts_server.cli.commands.tournament.seasons:seasons",
                "List the seasons of a tournament that repeats, newest first.",
            ),
            "stop-repeating": Command(
                "noughts_server.cli.commands.tournament.stop_repeating:stop_repeating",
                "Stop a tournament from repeating.",
            ),
            "watch": Command(
                "noughts_server.cli.commands.tournament.watch:watch",
                "Show a game or a tournament live until it ends or you press Ctrl-C.",
            ),
        },
    },
)
