"""`noughts nodes`: who belongs to a cluster, for operators and for the health checks of containers."""

import socket
from typing import Annotated

from typer import Option

from noughts_server.cli import options, output, printing
from noughts_server.cli.database import in_database
from noughts_server.cli.errors import Problem
from noughts_server.cli.former_command import command
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
    database: options.DatabaseOption = None,
    here: Annotated[bool, Option("--here", help="Only nodes on this machine or in this container")] = False,
) -> None:
    """List the live servers and referees of a cluster; exit code 1 if there are none."""
    from noughts_server.store.nodes import members
    from noughts_server.store.tournaments.stops import stopped_tournaments

    found, stopped = in_database(
        database, lambda store: store.read(lambda connection: (members(connection), stopped_tournaments(connection)))
    )
    if here:
        found = [member for member in found if socket.gethostname().startswith(member.host)]
    rows = [
        {
            "name": each.name,
            "kind": each.kind.name.lower(),
            "seats": each.seats,
            "seconds": each.seconds,
            "units": each.units,
            "silence_limit": each.silence_seconds,
        }
        for each in found
    ]
    shown = [
        (
            each.name,
            each.kind.name.lower(),
            each.seats or "",
            f"{each.seconds:,.0f} s",
            each.units or "",
            f"{each.silence_seconds:.0f} s",
        )
        for each in found
    ]
    stops = [{"tournament": each.name, "reason": each.reason, "retry_time": iso(each.retry_at)} for each in stopped]
    table = printing.table(("node", "kind", "seats", "up", "units", "silence limit"), shown, first_whole=True)
    output.show({"nodes": rows, "stopped": stops}, table if found else lambda: None)
    for each in stopped if not output.is_json() else ():
        printing.stdout().print(f"{each.name} has stopped: {printing.printable(each.reason)}", markup=False)
    if not found:
        where = "on this machine" if here else "in this database"
        raise Problem(
            f"found no live server or referee of a cluster {where}",
            "Start `noughts serve --bus URL` and `noughts referee --bus URL` with the same --db.",
        )
