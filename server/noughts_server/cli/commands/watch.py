"""The command `noughts watch`."""

from noughts_server.cli.command import command
from noughts_server.cli.options.names import WatchedArgument
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.cli.screens.watch.feed import show_feed


@command(
    example="""
$ noughts watch autumn/7
autumn/7: mybot (X) - rival (O), tictactoe, moves b1 a2 c3 b2 ...
"""
)
def watch(name: WatchedArgument = "", *, server: AddressOptions, output: OutputOptions) -> None:
    """Show a game or a tournament live until it ends or you press Ctrl-C. Reconnects if the connection is lost.

    With the extra `play`, arrows and Enter open a game, in which the arrows step through its moves; `q` leaves.
    Without a terminal the command prints one line per event.
    """
    show_feed(name, server, output)
