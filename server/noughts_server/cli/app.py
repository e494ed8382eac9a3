"""The tree of commands."""

from typing import Annotated

import typer

from noughts_server.cli.bots.bot import bot
from noughts_server.cli.bots.check import register_plugins
from noughts_server.cli.bots.gomocup import register_gomocup
from noughts_server.cli.bots.history import head_to_head, rating_lists, register_history
from noughts_server.cli.bots.tables import register_tables
from noughts_server.cli.commands import command, help_text
from noughts_server.cli.local.commands import register_local
from noughts_server.cli.local.play import play
from noughts_server.cli.local.variants import variants
from noughts_server.cli.operator.health import health
from noughts_server.cli.operator.ratings import ratings
from noughts_server.cli.operator.serve import serve
from noughts_server.cli.operator.status import status
from noughts_server.cli.operator.token import token
from noughts_server.cli.remote.challenge import challenge
from noughts_server.cli.remote.game import game
from noughts_server.cli.remote.leaderboard import leaderboard
from noughts_server.cli.remote.tournament import tournament
from noughts_server.cli.remote.watch import watch

app = typer.Typer(
    name="noughts",
    no_args_is_help=True,
    rich_markup_mode="rich",
    # Our errors are messages; what is left is a fault of this program, for which a plain traceback is best.
    pretty_exceptions_enable=False,
    epilog="Begin with: noughts demo",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from noughts_server.version import software_version

        typer.echo(f"noughts {software_version()}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tournaments of bots that play k-in-a-row games: on this machine, or at a server that bots dial into.

    Commands print for people; with `--format json` they print one JSON document, or JSON lines. Exit codes: 0 done,
    1 failed, 2 wrong usage, 130 interrupted.
    """


_AT_A_SERVER = "At a server"

app.callback(help=help_text(_root))(_root)

register_local(app, tournament)
command(
    app,
    "play",
    "noughts play pascal:level=1",
    "noughts play person --variant mnk:15,15,5",
    "noughts play --with bot:rival --server 127.0.0.1:7450",
    panel="On this machine",
)(play)
command(
    app,
    "serve",
    "noughts serve",
    "noughts serve --listen 127.0.0.1:0 --db games.db --format json",
    panel="Server",
)(serve)
command(tournament, "watch", "noughts tournament watch spring", panel=_AT_A_SERVER)(watch)
app.add_typer(tournament, name="tournament", rich_help_panel=_AT_A_SERVER)
command(
    app,
    "leaderboard",
    "noughts leaderboard --variant mnk:7,6,4",
    "noughts leaderboard --online --min-games 100",
    panel=_AT_A_SERVER,
)(leaderboard)
command(app, "rating-lists", "noughts rating-lists", panel=_AT_A_SERVER)(rating_lists)
command(app, "head-to-head", "noughts head-to-head careful centre", panel=_AT_A_SERVER)(head_to_head)
command(
    app, "watch", "noughts watch spring", "noughts watch spring/7", "noughts watch --format json", panel=_AT_A_SERVER
)(watch)
command(app, "status", "noughts status", "noughts status --once", panel="Server")(status)
command(app, "health", "noughts health --server 127.0.0.1:7450", panel="Server")(health)
command(
    app,
    "challenge",
    "noughts challenge bot:mybot --with nextstep:depth=3 --games 10",
    "noughts challenge bot:theirbot@2 --as mybot",
    panel=_AT_A_SERVER,
)(challenge)
command(app, "variants", "noughts variants", "noughts variants --format json", panel="On this machine")(variants)
app.add_typer(game, name="game", rich_help_panel=_AT_A_SERVER)
register_history(bot)
register_tables(bot)
register_plugins(bot)
register_gomocup(bot)
app.add_typer(bot, name="bot", rich_help_panel="Bots")
app.add_typer(token, name="token", rich_help_panel="Server")
app.add_typer(ratings, name="ratings", rich_help_panel="Server")
