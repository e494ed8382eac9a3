"""Follows the feed of a server: a screen on a terminal, lines elsewhere."""

from functools import partial

from noughts_server.cli import printing
from noughts_server.cli.drawing.feed_lines import note_lost, print_message
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.cli.screens.watch.feed_screen import Screen
from noughts_server.cli.typed_names import read_watched


def show_feed(name: str, server: AddressOptions, output: OutputOptions) -> None:
    """Show the game or tournament that a user named, until it ends or the user presses Ctrl-C."""
    resource = read_watched(name)
    try:
        with server.connected() as client:
            console = printing.stdout()
            if output.is_json or not console.is_terminal:
                client.follow(resource, partial(print_message, output), note_lost)
                return
            with Screen(resource, console) as screen:
                client.follow(resource, screen.message, screen.lost)
    except KeyboardInterrupt:
        pass  # Ctrl-C ends the command.
