"""Follows the feed of a server: the application or a redrawn overview on a terminal, lines elsewhere."""

import sys
from functools import partial

from rich.console import Console

from noughts_server.cli import printing
from noughts_server.cli.drawing.feed_lines import note_lost_connection, print_message
from noughts_server.cli.extras import has_extra
from noughts_server.cli.options.names import read_watched
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.cli.screens.watch.feed_state import FeedState
from noughts_server.cli.screens.watch.overview import Overview
from noughts_server.cli.screens.watch.redrawn import RedrawnOverview
from noughts_server.client.client import Client


def show_feed(name: str, server: AddressOptions, output: OutputOptions) -> None:
    """Show the game or tournament that a user named, until it ends or the user leaves."""
    resource = read_watched(name)
    try:
        with server.connected() as client:
            console = printing.stdout()
            if output.is_json or not console.is_terminal:
                client.follow(resource, partial(print_message, output), note_lost_connection)
            elif has_extra("play") and sys.stdin.isatty() and sys.stderr.isatty():
                _run_application(client, resource, console)
            else:
                with RedrawnOverview(resource, console) as screen:
                    client.follow(resource, screen.state.take, screen.state.note_lost)
    except KeyboardInterrupt:
        pass  # Ctrl-C ends the command without an error


def _run_application(client: Client, resource: str, console: Console) -> None:
    """Show the feed in the application, and print what remains at the end."""
    from noughts_server.cli.screens.application import run_mode
    from noughts_server.cli.screens.watch.games_of_feed import GamesOfFeed
    from noughts_server.cli.screens.watch.overview_mode import OverviewMode

    state = FeedState(resource)
    games = GamesOfFeed(state)
    games.follow(client)
    try:
        # No screen opens for a feed that is already over, or that the server refuses.
        if not games.is_brief():
            run_mode(OverviewMode(games, console.encoding), mouse=False)
    finally:
        if state.view.has_snapshot:
            console.print(Overview(state, console.encoding).final(console.width))
    if games.failure is not None:
        raise games.failure
