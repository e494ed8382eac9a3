"""`noughts nodes`: the members of a cluster, for operators and for the health checks of containers."""

from typing import TYPE_CHECKING, Annotated, Any

from rich.console import RenderableType
from typer import Option

from noughts_referee.machine_speed import time_factor
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.times import iso

if TYPE_CHECKING:
    from noughts_server.store.games.machines import MachineScore


@command(
    example="""
$ noughts nodes --db postgresql://noughts@db/noughts
node                     kind     seats  up   heartbeat   units  speed
...
server-...   server ...
referee-...  referee ...
...
""",
    extra="server",
)
def nodes(
    database: DatabaseOption = None,
    here: Annotated[bool, Option("--here", help="Only nodes on this machine or in this container")] = False,
    *,
    output: OutputOptions,
) -> None:
    """List the live servers and referees of a cluster; exit code 1 if there are none."""
    from noughts_server.runtime.machine import host_name
    from noughts_server.store.games.machines import machines
    from noughts_server.store.nodes import members
    from noughts_server.store.tournaments.stops import stopped_tournaments

    nodes, stopped, scores = in_database(
        database,
        lambda store: store.read(
            lambda connection: (members(connection), stopped_tournaments(connection), machines(connection))
        ),
    )
    if here:
        nodes = [node for node in nodes if node.host == host_name()]
        scores = [score for score in scores if score.machine == host_name()]
    documents = [
        {
            "name": node.name,
            "kind": node.kind.name.lower(),
            "seats": node.seats,
            "seconds": node.seconds,
            "units": node.units,
            "silence_limit": node.silence_seconds,
            "silence": node.silent_seconds,
            "version": node.version,
            "speed": node.speed or None,
            "time_factor": time_factor(node.speed) if node.speed else None,
        }
        for node in nodes
    ]
    rows = [
        (
            node.name,
            node.kind.name.lower(),
            node.seats or "",
            f"{node.seconds:,.0f} s",
            f"{node.silent_seconds:.1f} of {node.silence_seconds:.0f} s",
            node.units or "",
            f"{node.speed:.2f}" if node.speed else "",
        )
        for node in nodes
    ]
    stops = [{"tournament": stop.name, "reason": stop.reason, "retry_time": iso(stop.retry_at)} for stop in stopped]
    columns = ("node", "kind", "seats", "up", "heartbeat", "units", "speed")
    table = printing.table(columns, rows, first_whole=True)
    document = {"nodes": documents, "stopped": stops, "machines": list(map(_machine_document, scores))}
    output.show(document, table if nodes else lambda: None)
    if scores and not output.is_json:
        printing.stdout().print()
        printing.stdout().print(_machines_table(scores))
    for stop in stopped if not output.is_json else ():
        printing.stdout().print(f"{stop.name} has stopped: {printing.printable(stop.reason)}", markup=False)
    if not nodes:
        place = "on this machine" if here else "in this database"
        raise Problem(
            f"found no live server or referee of a cluster {place}",
            "Start `noughts serve --bus URL` and `noughts referee --bus URL` with the same --db.",
        )


def _machine_document(score: "MachineScore") -> dict[str, Any]:
    is_known = score.compared > 0
    return {
        "machine": score.machine,
        "games": score.games,
        "faults": score.faults,
        "compared": score.compared,
        "score": score.score if is_known else None,
        "expected": score.expected if is_known else None,
        "residual": score.residual if is_known else None,
        "error95": score.error95 if is_known else None,
        "stands_out": score.stands_out,
        "since": iso(score.since),
    }


def _machines_table(scores: "list[MachineScore]") -> RenderableType:
    columns = ("machine", "games", "faults", "compared", "favourites", "expected", "residual", "")
    rows = []
    for score in scores:
        known = ("", "", "")
        if score.compared:
            residual = f"{100 * score.residual:+.1f} ± {100 * score.error95:.1f} %"
            known = (f"{100 * score.score:.1f} %", f"{100 * score.expected:.1f} %", residual)
        counts = (f"{score.games:,}", f"{score.faults:,}", f"{score.compared:,}")
        rows.append((score.machine, *counts, *known, "stands out" if score.stands_out else ""))
    return printing.table(columns, rows, first_whole=True)
