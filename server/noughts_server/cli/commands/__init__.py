"""The commands of `noughts`, in the order of its help."""

from noughts_server.cli.commands import (
    bot,
    course,
    db,
    game,
    invite,
    puzzle,
    ratings,
    records,
    rules,
    test,
    token,
    tournament,
    tuning,
    webhook,
)
from noughts_server.cli.lazy_commands import FORMER_NAMES, Command, Group

GROUP = Group(
    summary=(
        "Run tournaments between bots that play k-in-a-row games, on this machine or on a server.\n\n"
        "Commands print text; with `--format json` they print one JSON document, or JSON lines. "
        "Exit codes: 0 done, 1 failed, 2 usage error, 130 interrupted."
    ),
    example="""
$ noughts match pascal:level=1 random --games 10 --seed 1
...
pascal:level=1       8½     7      3       0
...
random               1½     0      3       7
...
""",
    panels={
        "Start here": {
            "demo": Command(
                "noughts_server.cli.commands.demo:demo",
                "Play a round robin of fourteen reference bots, each in its own process, and rank them.",
            ),
            "match": Command(
                "noughts_server.cli.commands.match:match",
                "Play A against B and estimate the difference in Elo.",
            ),
            "play": Command(
                "noughts_server.cli.commands.play:play",
                "Play unrated games against a bot or another person, on a board in the terminal.",
            ),
        },
        "Bots": {
            "bot": bot.GROUP,
            "estimate": Command(
                "noughts_server.cli.commands.estimate:estimate",
                "Rate a bot against reference bots: Elo with its 95 % interval, weakest variant, slowest moves.",
            ),
        },
        "Local games": {
            "variants": Command(
                "noughts_server.cli.commands.variants:variants",
                "List all variants: built-in ones and those from installed plugins.",
            ),
            "records": records.GROUP,
            "solve": Command(
                "noughts_server.cli.commands.solve:solve",
                "Print the exact value of a position for the side to move, and the best moves.",
            ),
            "rules": rules.GROUP,
        },
        "Use a server": {
            "join": Command(
                "noughts_server.cli.commands.join:join",
                "Register at a server with an invitation, or where registration is open, and get a token.",
            ),
            "tournament": tournament.GROUP,
            "test": test.GROUP,
            "tuning": tuning.GROUP,
            "watch": Command(
                "noughts_server.cli.commands.watch:watch",
                "Show a game or a tournament live until it ends or you press Ctrl-C.",
            ),
            "challenge": Command(
                "noughts_server.cli.commands.challenge:challenge",
                "Play a few unrated games against a bot that is online on a server, and estimate the Elo difference.",
            ),
            "leaderboard": Command(
                "noughts_server.cli.commands.leaderboard:leaderboard",
                "List the bots in a rating list, strongest first.",
            ),
            "rating-lists": Command(
                "noughts_server.cli.commands.rating_lists:rating_lists",
                "List a server's rating lists: one for each variant and time class with a rated tournament.",
            ),
            "head-to-head": Command(
                "noughts_server.cli.commands.head_to_head:head_to_head",
                "Show the score of bot A against bot B, over all versions and tournaments, rated or not.",
            ),
            "game": game.GROUP,
            "puzzle": puzzle.GROUP,
            "mcp": Command(
                "noughts_server.cli.commands.mcp:mcp",
                "Give agents tools to use a server, by the Model Context Protocol (MCP), until they disconnect.",
            ),
            "webhook": webhook.GROUP,
        },
        "Run a server": {
            "serve": Command(
                "noughts_server.cli.commands.serve:serve",
                "Run a server until Ctrl-C.",
            ),
            "live": Command(
                "noughts_server.cli.commands.live:live",
                "Run a server, its website and reference bots that keep playing, until Ctrl-C.",
            ),
            "web": Command(
                "noughts_server.cli.commands.web:web",
                "Serve a website that shows a server's tournaments, games and ratings live, until Ctrl-C.",
            ),
            "referee": Command(
                "noughts_server.cli.commands.referee:referee",
                "Play games for a cluster until Ctrl-C.",
            ),
            "nodes": Command(
                "noughts_server.cli.commands.nodes:nodes",
                "List the live servers and referees of a cluster; exit code 1 if there are none.",
            ),
            "status": Command(
                "noughts_server.cli.commands.status:status",
                "Show what a server is doing, refreshed every second, until Ctrl-C.",
            ),
            "health": Command(
                "noughts_server.cli.commands.health:health",
                "Query the server's standard health service; exit code 0 if it is serving, 1 if not.",
            ),
            "token": token.GROUP,
            "invite": invite.GROUP,
            "course": course.GROUP,
            "ratings": ratings.GROUP,
            "db": db.GROUP,
        },
        "Analysis": {
            "report": Command(
                "noughts_server.cli.commands.report:report",
                "Write a tournament as one HTML file with tables, charts and games to replay on a board.",
            ),
            "rate": Command(
                "noughts_server.cli.commands.rate:rate",
                "Compute ratings from all games in a file or tournament, with 95 % intervals and first-move advantage.",
            ),
            "tune": Command(
                "noughts_server.cli.commands.tune:tune",
                "Tune numbers of a bot by games against itself (SPSA), and estimate the best values.",
            ),
            "sprt": Command(
                "noughts_server.cli.commands.sprt:sprt",
                "Run a generalised sequential probability ratio test on counts, or plan the number of games.",
            ),
        },
        FORMER_NAMES: {
            "gym": Command(
                "noughts_server.cli.commands.estimate:estimate",
                "Rate a bot against reference bots: Elo with its 95 % interval, weakest variant, slowest moves.",
            ),
        },
    },
)
