"""`noughts watch`: live games and tournaments."""

from typing import Annotated

from typer import Argument

from noughts_server.cli import completion, output, printing
from noughts_server.cli.client import connected
from noughts_server.cli.former_command import command
from noughts_server.cli.remote.watch_lines import note_lost, print_message
from noughts_server.cli.remote.watch_screen import Screen
from noughts_server.cli.typed_names import read_watched


@command()
def watch(
    name: Annotated[str, Argument(metavar="[NAME]", autocompletion=completion.tournaments)] = "",
    server: str | None = None,
) -> None:
    """Show a game or a tournament live until it ends or you press Ctrl-C. Reconnects if the connection is lost.

    Without a terminal the command prints one line per event.
    """
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
