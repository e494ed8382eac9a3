"""The status of a server as text, for `noughts status`."""

import math
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from noughts_proto.v1 import status_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.drawing.stop_wording import stop_wording
from noughts_server.core.resource_names import short

_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_BARS = "_.-=+*#@"
_SPARK_CELLS = 30
_BAR_CELLS = 24
_MOST_TOURNAMENTS = 10
_MOST_BOTS = 12


def status_text(status: pb.GetStatusResponse) -> RenderableType:
    """Return the status of a server as text."""
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


def _tournaments(tournaments: Sequence[pb.RunningTournament]) -> RenderableType:
    rows = [
        (
            short(row.name),
            bar(row.games_done, row.games_total),
            f"{row.games_done:,}/{row.games_total:,}",
            f"{row.games_in_flight:,}",
            "" if row.problem else eta(row),
        )
        for row in tournaments[:_MOST_TOURNAMENTS]
    ]
    if len(tournaments) > _MOST_TOURNAMENTS:
        rows.append((f"and {len(tournaments) - _MOST_TOURNAMENTS} more", "", "", "", ""))
    table = printing.table(("tournament", "progress", ">games", ">running", ">left"), rows)
    stops = [f"{short(row.name)} has stopped: {stop_wording(row)}" for row in tournaments if row.problem]
    lines = [Text(printing.printable(line), style="bold red") for line in stops[:_MOST_TOURNAMENTS]]
    return Group(table, *lines)


def _bots(status: pb.GetStatusResponse) -> RenderableType:
    rows: list[tuple[object, ...]] = [
        (*name_and_version(row.bot_version), f"{row.games_in_flight:,}") for row in status.bots[:_MOST_BOTS]
    ]
    if status.bots_online > _MOST_BOTS:
        rows.append((f"and {status.bots_online - _MOST_BOTS:,} more", "", ""))
    return printing.table(("bot", "version", ">running"), rows)


def name_and_version(resource: str) -> tuple[str, str]:
    """Return the name and the version of `bots/NAME/versions/VERSION`."""
    name, _, version = short(resource).partition("/versions/")
    return name, version


def sparkline(history: Iterable[float]) -> str:
    """Return the last values as bars of eight heights, relative to the highest value; in ASCII without Unicode."""
    values = list(history)[-_SPARK_CELLS:]
    highest = max(values, default=0.0)
    if highest <= 0:
        return "-"
    bars = _BARS if printing.unicode() else _PLAIN_BARS
    return "".join(bars[min(len(bars) - 1, int(value / highest * len(bars)))] for value in values)


def bar(done: int, total: int) -> str:
    """Return a bar that shows the share of games that have ended."""
    full = _BAR_CELLS * done // total if total else 0
    filled, empty = ("━", "╌") if printing.unicode() else ("#", ".")
    return filled * full + empty * (_BAR_CELLS - full)


def eta(tournament: pb.RunningTournament) -> str:
    """Return the remaining time of a tournament; `-` if no game has ended lately."""
    if tournament.games_per_second <= 0:
        return "-"
    return duration((tournament.games_total - tournament.games_done) / tournament.games_per_second)


def duration(seconds: float) -> str:
    """Return e.g. `7 s`, `3 min 20 s`, `5 h 03 min` or `2 d 4 h`."""
    total_minutes, remaining_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(total_minutes, 60)
    if not total_minutes:
        return f"{remaining_seconds} s"
    if not hours:
        return f"{minutes} min {remaining_seconds:02} s"
    if hours < 48:
        return f"{hours} h {minutes:02} min"
    return f"{hours // 24} d {hours % 24} h"


def size(count: float) -> str:
    """Return e.g. `12.3 MiB`."""
    units = ("KiB", "MiB", "GiB", "TiB")
    if count < 1024:
        return f"{count:,.0f} B"
    power = min(int(math.log(count, 1024)), len(units))
    return f"{count / 1024**power:,.1f} {units[power - 1]}"
