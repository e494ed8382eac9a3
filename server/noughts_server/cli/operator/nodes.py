"""`noughts nodes`: who belongs to a cluster, for operators and for the health checks of containers."""

import socket

from noughts_server.cli import options, output
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.errors import Problem


@command(extra="server")
def nodes(database: options.DatabaseOption = None, here: bool = False) -> None:
    """List the live servers and referees of a cluster; exit code 1 if there are none."""
    from noughts_server.store.nodes import members

    found = in_database(database, lambda store: store.read(members))
    if here:
        found = [member for member in found if socket.gethostname().startswith(member.host)]
    rows = [
        {"name": each.name, "kind": each.kind.name.lower(), **output.picked(each, "seats", "seconds", "units")}
        for each in found
    ]
    shown = [
        (each.name, each.kind.name.lower(), each.seats or "", f"{each.seconds:,.0f} s", each.units or "")
        for each in found
    ]
    table = output.table(("node", "kind", "seats", "up", "units"), shown, first_whole=True)
    output.show({"nodes": rows}, table if found else lambda: None)
    if not found:
        where = "on this machine" if here else "in this database"
        raise Problem.of("no_members", where=where)
