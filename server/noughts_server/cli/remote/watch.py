"""`noughts watch`: games and tournaments while they are played."""

from contextlib import AbstractContextManager
from typing import Annotated

from typer import Argument

from noughts_server.cli import completion, connection_options, options, output
from noughts_server.cli.client import connected
from noughts_server.cli.command import command
from noughts_server.cli.output import Format
from noughts_server.cli.remote.watch_lines import JsonLines, TextLines
from noughts_server.cli.remote.watch_screen import Screen
from noughts_server.cli.remote.watch_stream import Show, follow
from noughts_server.cli.resource_names import watched_name


@command(
    "noughts watch spring",
    "noughts watch spring/7",
    "noughts watch --format json",
    "noughts tournament watch spring",
)
def watch(
    name: Annotated[
        str,
        Argument(
            metavar="[NAME]",
            help="A tournament (`spring`), a game (`spring/7` or `tournaments/spring/games/7`), or nothing: what runs.",
            show_default=False,
            autocompletion=completion.tournaments,
        ),
    ] = "",
    server: connection_options.ServerOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Shows a game or a tournament live, until it is over or Ctrl-C. Comes back by itself when the connection is lost.

    Piped, it prints a line per event. JSON: lines with "event" and "sequence". "snapshot": {"epoch", "tournaments",
    "games"}; "tournament": {"tournament", "title", "state", "variant", "games", "games_total", "games_running",
    "plies", "standings": the rows that changed, as in `tournament show`, with "rank" and "faults"}; "game" (it begins,
    or its board is shown from now on): {"game", "variant", "first", "second", "time", "state", "moves", "times_ms",
    "first_clock_ms", "second_clock_ms", "first_score", "second_score", "result", "termination", "winning_cells", where
    bots have times of their own "first_time", "second_time"}; "ply": {"game", "ply", "cell", "time_ms",
    "first_clock_ms", "second_clock_ms", "score"}; "end": {"game", "result", "termination", "winning_cells"}; "gone"
    (shown no longer): {"name"}; "resync" (a snapshot follows, something may have been missed): {"reason"}. A score is
    what a bot says it thinks of its position, on a scale of its own, higher is better for it; null if it says nothing.
    """
    resource = watched_name(name)
    try:
        with connected(server) as client, _showing(resource, output_format) as show:
            follow(client, resource, show)
    except KeyboardInterrupt:
        pass  # the way to stop watching


def _showing(resource: str, output_format: Format) -> AbstractContextManager[Show]:
    if output_format is Format.JSON:
        return JsonLines()
    console = output.stdout()
    if not console.is_terminal:
        return TextLines()
    return Screen(resource, console)
