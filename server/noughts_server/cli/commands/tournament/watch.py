"""The command `noughts tournament watch`."""

from noughts_server.cli.command import command
from noughts_server.cli.options.names import WatchedArgument
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.cli.screens.watch.feed import show_feed


@command(
    example="""
$ noughts tournament watch autumn
autumn: finished, 20 of 20 games, 0 in play
autumn: 1. mybot, points 18, rating 1644
autumn: 2. rival, points 2, rating 1356
"""
)
def watch(name: WatchedArgument = "", *, server: AddressOptions, output: OutputOptions) -> None:
    """Show a game or a tournament live until it ends or you press Ctrl-C. Reconnects if the connection is lost.

    With the extra `play`, arrows and Enter open a game, in which the arrows step through its moves; `q` leaves.
    Without a terminal the command prints one line per event.
    """
    show_feed(name, server, output)
