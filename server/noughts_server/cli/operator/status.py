"""`noughts status`: how a server is doing, as a screen that refreshes itself."""

import math
import time
from collections.abc import Iterable
from datetime import UTC
from typing import Annotated, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text
from typer import Option

from noughts_proto.v1 import status_pb2 as pb
from noughts_server.cli import output, printing
from noughts_server.cli.client import connected
from noughts_server.cli.former_command import command
from noughts_server.cli.remote.tournament_view import stop_wording
from noughts_server.cli.times import iso, milliseconds
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.core.resource_names import short

_REFRESH_SECONDS = 1.0
_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_BARS = "_.-=+*#@"
_SPARK_CELLS = 30
_BAR_CELLS = 24
_MOST_TOURNAMENTS = 10
_MOST_BOTS = 12


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
    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None,
) -> None:
    """Show what a server is doing, refreshed every second, until Ctrl-C.

    Without a terminal the command prints once.
    """
    with connected(server) as client:
        console = printing.stdout()
        if once or output.is_json() or not console.is_terminal:
            found = _ask(client)
            output.show(_document(found), screen(found))
        else:
            _live(client, console)


def _ask(client: Client) -> pb.GetStatusResponse:
    return client.call(client.status.GetStatus, pb.GetStatusRequest())


def _live(client: Client, console: Console) -> None:
    with Live(screen(_ask(client)), console=console, auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(_REFRESH_SECONDS)
            try:
                shown: RenderableType = screen(_ask(client))
            except CallFailed as problem:
                # A server that is restarted comes back; until then its last screen says nothing that is true.
                shown = Text("Waiting: ", style="bold yellow")
                shown.append(printing.printable(problem.message), style="not bold default")
            live.update(shown, refresh=True)


def screen(status: pb.GetStatusResponse) -> RenderableType:
    state = Text(" draining", style="bold yellow") if status.draining else Text(" serving", style="green")
    if status.database_trouble:
        state = Text(f" no game begins: the database: {printing.printable(status.database_trouble)}", style="bold red")
    head = Text(f"Noughts {printing.printable(status.version)}", style="bold")
    head.append(f" at {printing.printable(status.address)}", style="not bold").append(state)
    head.append(f", up {duration(status.uptime_seconds)}", style="dim")
    parts: list[RenderableType] = [head, Text(), _facts(status)]
    if status.tournaments:
        parts += [Text(), _tournaments(status.tournaments)]
    if status.bots:
        parts += [Text(), _bots(status)]
    return Group(*parts)


def _facts(status: pb.GetStatusResponse) -> RenderableType:
    grid = Table.grid(padding=(0, 3, 0, 0))
    rows = [
        ("games/s", f"{status.games_per_second:,.1f}", "running", f"{status.games_in_flight:,}"),
        ("plies/s", f"{status.plies_per_second:,.0f}", "queued", f"{status.slots_queued:,}"),
        ("games", f"{status.games:,}", "bots online", f"{status.bots_online:,}"),
        ("plies", f"{status.plies:,}", "watchers", f"{status.watchers:,}"),
        ("commit", f"{status.commit_seconds * 1000:,.1f} ms", "database", size(status.database_bytes)),
        ("loop lag", f"{status.loop_lag_seconds * 1000:,.1f} ms", "last 30 s", sparkline(status.plies_history)),
    ]
    if status.accepts:
        rows.append(("uploads", ", ".join(status.accepts), "", ""))
    if status.stalls:
        rows.append(("stalled", f"{status.stalled_seconds:,.1f} s", "excused", f"{status.excused:,}"))
    for column in range(4):
        grid.add_column(justify="right" if column == 1 else "left", style="dim" if column in (0, 2) else "")
    for row in rows:
        grid.add_row(*row)
    return grid


def _tournaments(running: Iterable[pb.RunningTournament]) -> RenderableType:
    known = list(running)
    rows = [
        (
            short(each.name),
            bar(each.games_done, each.games_total),
            f"{each.games_done:,}/{each.games_total:,}",
            f"{each.games_in_flight:,}",
            "" if each.problem else eta(each),
        )
        for each in known[:_MOST_TOURNAMENTS]
    ]
    if len(known) > _MOST_TOURNAMENTS:
        rows.append((f"and {len(known) - _MOST_TOURNAMENTS} more", "", "", "", ""))
    table = printing.table(("tournament", "progress", ">games", ">running", ">left"), rows)
    stopped = [f"{short(each.name)} has stopped: {stop_wording(each)}" for each in known if each.problem]
    shown = [Text(printing.printable(line), style="bold red") for line in stopped[:_MOST_TOURNAMENTS]]
    return Group(table, *shown)


def _bots(status: pb.GetStatusResponse) -> RenderableType:
    rows: list[tuple[object, ...]] = [
        (*_name_and_version(each.bot_version), f"{each.games_in_flight:,}") for each in status.bots[:_MOST_BOTS]
    ]
    if status.bots_online > _MOST_BOTS:
        rows.append((f"and {status.bots_online - _MOST_BOTS:,} more", "", ""))
    return printing.table(("bot", "version", ">running"), rows)


def _name_and_version(resource: str) -> tuple[str, str]:
    name, _, version = short(resource).partition("/versions/")
    return name, version


def sparkline(history: Iterable[float]) -> str:
    """The last values as bars of eight heights, the highest of them full; ASCII where the output can show no more."""
    values = list(history)[-_SPARK_CELLS:]
    highest = max(values, default=0.0)
    if highest <= 0:
        return "-"
    bars = _BARS if printing.unicode() else _PLAIN_BARS
    return "".join(bars[min(len(bars) - 1, int(value / highest * len(bars)))] for value in values)


def bar(done: int, total: int) -> str:
    full = _BAR_CELLS * done // total if total else 0
    filled, empty = ("━", "╌") if printing.unicode() else ("#", ".")
    return filled * full + empty * (_BAR_CELLS - full)


def eta(tournament: pb.RunningTournament) -> str:
    """How long a tournament will take still; `-` where nobody knows."""
    if tournament.games_per_second <= 0:
        return "-"
    return duration((tournament.games_total - tournament.games_done) / tournament.games_per_second)


def duration(seconds: float) -> str:
    """`7 s`, `3 min 20 s`, `5 h 03 min`, `2 d 4 h`."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes_rest = divmod(minutes, 60)
    if not minutes:
        return f"{rest} s"
    if not hours:
        return f"{minutes} min {rest:02} s"
    if hours < 48:
        return f"{hours} h {minutes_rest:02} min"
    return f"{hours // 24} d {hours % 24} h"


def size(count: float) -> str:
    """`12.3 MiB`."""
    units = ("KiB", "MiB", "GiB", "TiB")
    if count < 1024:
        return f"{count:,.0f} B"
    power = min(int(math.log(count, 1024)), len(units))
    return f"{count / 1024**power:,.1f} {units[power - 1]}"


def _document(status: pb.GetStatusResponse) -> dict[str, Any]:
    return {
        **printing.picked(status, "version", "address"),
        "started": status.start_time.ToDatetime(UTC).isoformat(timespec="seconds"),
        **printing.picked(status, "uptime_seconds", "draining", "games", "plies", "games_per_second"),
        **printing.picked(status, "plies_per_second", "games_in_flight", "slots_queued", "bots_online"),
        "bots": [
            {
                "name": _name_and_version(each.bot_version)[0],
                "version": each.bot_version,
                "games_in_flight": each.games_in_flight,
            }
            for each in status.bots
        ],
        "tournaments": [
            {
                "name": short(each.name),
                "games": each.games_done,
                **printing.picked(each, "games_total", "games_in_flight", "games_per_second"),
                "problem": each.problem or None,
                "retry_time": iso(milliseconds(each, "retry_time")),
            }
            for each in status.tournaments
        ],
        **printing.picked(status, "watchers", "commit_seconds", "loop_lag_seconds", "stalls", "stalled_seconds"),
        **printing.picked(status, "excused", "database_bytes"),
        "accepts": list(status.accepts),
        "database_trouble": status.database_trouble or None,
    }
