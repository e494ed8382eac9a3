"""`noughts nodes`: the members of a cluster, for operators and for the health checks of containers."""

import socket
from typing import Annotated

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.times import iso


@command(
    example="""
$ noughts nodes --db postgresql://noughts@db/noughts
node                     kind     seats  up    units  silence limit
...
server-...   server ...
referee-...  referee ...
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
    from noughts_server.store.nodes import members
    from noughts_server.store.tournaments.stops import stopped_tournaments

    nodes, stopped = in_database(
        database, lambda store: store.read(lambda connection: (members(connection), stopped_tournaments(connection)))
    )
    if here:
        nodes = [node for node in nodes if socket.gethostname().startswith(node.host)]
    documents = [
        {
            "name": node.name,
            "kind": node.kind.name.lower(),
            "seats": node.seats,
            "seconds": node.seconds,
            "units": node.units,
            "silence_limit": node.silence_seconds,
        }
        for node in nodes
    ]
    rows = [
        (
            node.name,
            node.kind.name.lower(),
            node.seats or "",
            f"{node.seconds:,.0f} s",
            node.units or "",
            f"{node.silence_seconds:.0f} s",
        )
        for node in nodes
    ]
    stops = [{"tournament": stop.name, "reason": stop.reason, "retry_time": iso(stop.retry_at)} for stop in stopped]
    table = printing.table(("node", "kind", "seats", "up", "units", "silence limit"), rows, first_whole=True)
    output.show({"nodes": documents, "stopped": stops}, table if nodes else lambda: None)
    for stop in stopped if not output.is_json else ():
        printing.stdout().print(f"{stop.name} has stopped: {printing.printable(stop.reason)}", markup=False)
    if not nodes:
        place = "on this machine" if here else "in this database"
        raise Problem(
            f"found no live server or referee of a cluster {place}",
            "Start `noughts serve --bus URL` and `noughts referee --bus URL` with the same --db.",
        )
