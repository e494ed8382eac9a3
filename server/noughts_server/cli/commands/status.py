"""`noughts status`: how a server is doing, as a screen that refreshes itself."""

import time
from datetime import UTC
from typing import Annotated, Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text
from typer import Option

from noughts_proto.v1 import status_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.server_status import name_and_version, status_text
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.cli.times import iso, milliseconds
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.core.resource_names import short

_REFRESH_SECONDS = 1.0


@command(
    example="""
$ noughts status --once
Noughts ... at 127.0.0.1:7450 serving, up ...
...
...
mybot    1              0
...
"""
)
def status(
    once: Annotated[bool, Option("--once", help="Print once and exit, even on a terminal")] = False,
    *,
    server: AddressOptions,
    output: OutputOptions,
) -> None:
    """Show what a server is doing, refreshed every second, until Ctrl-C.

    Without a terminal the command prints once.
    """
    with server.connected() as client:
        console = printing.stdout()
        if once or output.is_json or not console.is_terminal:
            status = _call(client)
            output.show(_document(status), status_text(status))
        else:
            _run_screen(client, console)


def _call(client: Client) -> pb.GetStatusResponse:
    return client.call(client.status.GetStatus, pb.GetStatusRequest())


def _run_screen(client: Client, console: Console) -> None:
    with Live(status_text(_call(client)), console=console, auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(_REFRESH_SECONDS)
            try:
                text: RenderableType = status_text(_call(client))
            except CallFailed as problem:
                # The server is possibly restarting. Its last status is out of date, so the screen does not show it.
                text = Text("Waiting: ", style="bold yellow")
                text.append(printing.printable(problem.message), style="not bold default")
            live.update(text, refresh=True)


def _document(status: pb.GetStatusResponse) -> dict[str, Any]:
    return {
        "version": status.version,
        "address": status.address,
        "started": status.start_time.ToDatetime(UTC).isoformat(timespec="seconds"),
        "uptime_seconds": status.uptime_seconds,
        "draining": status.draining,
        "games": status.games,
        "plies": status.plies,
        "games_per_second": status.games_per_second,
        "plies_per_second": status.plies_per_second,
        "games_in_flight": status.games_in_flight,
        "slots_queued": status.slots_queued,
        "bots_online": status.bots_online,
        "bots": [
            {
                "name": name_and_version(bot.bot_version)[0],
                "version": bot.bot_version,
                "games_in_flight": bot.games_in_flight,
            }
            for bot in status.bots
        ],
        "tournaments": [
            {
                "name": short(tournament.name),
                "games": tournament.games_done,
                "games_total": tournament.games_total,
                "games_in_flight": tournament.games_in_flight,
                "games_per_second": tournament.games_per_second,
                "problem": tournament.problem or None,
                "retry_time": iso(milliseconds(tournament.retry_time)),
            }
            for tournament in status.tournaments
        ],
        "watchers": status.watchers,
        "commit_seconds": status.commit_seconds,
        "loop_lag_seconds": status.loop_lag_seconds,
        "stalls": status.stalls,
        "stalled_seconds": status.stalled_seconds,
        # How often a late question waited for an answer that could have arrived during a stall.
        "excused": status.excused,
        "database_bytes": status.database_bytes,
        "accepts": list(status.accepts),
        "database_trouble": status.database_trouble or None,
    }
