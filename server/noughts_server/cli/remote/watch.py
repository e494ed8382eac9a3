"""`noughts watch`: live games and tournaments."""

from typing import Annotated

from typer import Argument, Option

from noughts_server.cli import completion, output, printing
from noughts_server.cli.client import connected
from noughts_server.cli.former_command import command
from noughts_server.cli.remote.watch_lines import note_lost, print_message
from noughts_server.cli.remote.watch_screen import Screen
from noughts_server.cli.typed_names import read_watched

WatchedArgument = Annotated[
    str,
    Argument(
        metavar="[NAME]",
        autocompletion=completion.tournaments,
        help="Tournament (`spring`) or game (`spring/7`). Default: everything live",
    ),
]
WatchServerOption = Annotated[
    str | None,
    Option(
        "--server",
        metavar="HOST:PORT[,...]",
        help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
        rich_help_panel="Connection",
    ),
]


@command(
    example="""
$ noughts watch autumn/7
autumn/7: mybot (X) - rival (O), tictactoe, moves b1 a2 c3 b2 ...
"""
)
def watch(name: WatchedArgument = "", server: WatchServerOption = None) -> None:
    """Show a game or a tournament live until it ends or you press Ctrl-C. Reconnects if the connection is lost.

    Without a terminal the command prints one line per event.
    """
    _watch(name, server)


@command(
    example="""
$ noughts tournament watch autumn
autumn: finished, 20 of 20 games, 0 in play
autumn: 1. mybot, points 18, rating 1644
autumn: 2. rival, points 2, rating 1356
"""
)
def watch_tournament(name: WatchedArgument = "", server: WatchServerOption = None) -> None:
    """Show a game or a tournament live until it ends or you press Ctrl-C. Reconnects if the connection is lost.

    Without a terminal the command prints one line per event.
    """
    _watch(name, server)


def _watch(name: str, server: str | None) -> None:
    resource = read_watched(name)
    try:
        with connected(server) as client:
            console = printing.stdout()
            if output.is_json() or not console.is_terminal:
                client.follow(resource, print_message, note_lost)
                return
            with Screen(resource, console) as screen:
                client.follow(resource, screen.message, screen.lost)
    except KeyboardInterrupt:
        pass  # Ctrl-C is the way to stop
