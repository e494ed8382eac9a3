"""The members of a cluster: each server and referee sends heartbeats, timed by the database's clock."""

from enum import IntEnum
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select

from noughts_server.store.engine import dialect
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import nodes, units

LIFETIME_MS = 5_000
"""A node without a heartbeat for this long counts as dead; others can claim its units."""
_FORGOTTEN_MS = 3_600_000


class NodeKind(IntEnum):
    SERVER = 1
    REFEREE = 2


class Node(NamedTuple):
    """A process of the cluster."""

    name: str
    kind: NodeKind
    seats: int
    """Its capacity: concurrent games of bots that it starts itself."""
    accepts: str = ""
    """The kinds of submitted bots that it runs, separated by commas."""


class Beat(NamedTuple):
    """The answer to a heartbeat."""

    alive: tuple[Node, ...]
    """All live nodes, including this one, oldest first."""
    silent_ms: int
    """Time since the previous heartbeat; 0 for the first."""


class Member(NamedTuple):
    """A node as other nodes see it."""

    name: str
    kind: NodeKind
    seats: int
    seconds: float
    """Time since its start."""
    units: int

    @property
    def host(self) -> str:
        """Return the machine, truncated as in its name."""
        return self.name.split("-", 1)[1].rsplit("-", 2)[0]


def beat(connection: Connection, node: Node) -> Beat:
    """Record a heartbeat of the node. Writes."""
    now = dialect.of(connection).now_ms(connection)
    known = connection.execute(select(nodes).where(nodes.c.name == node.name)).one_or_none()
    row = (node.name, int(node.kind), known.started_at if known else now, now, node.seats, node.accepts)
    upsert(connection, nodes, [row], replace=("seen_at", "seats"))
    connection.execute(delete(nodes).where(nodes.c.seen_at < now - _FORGOTTEN_MS))
    return Beat(alive(connection), now - known.seen_at if known else 0)


def leave(connection: Connection, name: str) -> None:
    """Remove a node that ends, so that no other waits for it. Writes."""
    connection.execute(delete(nodes).where(nodes.c.name == name))


def alive(connection: Connection) -> tuple[Node, ...]:
    """Return all live nodes, oldest first."""
    live = select(nodes).where(nodes.c.seen_at >= dialect.of(connection).now_ms(connection) - LIFETIME_MS)
    rows = connection.execute(live.order_by(nodes.c.started_at, nodes.c.name))
    return tuple(Node(row.name, NodeKind(row.kind), row.seats, row.accepts) for row in rows)


def members(connection: Connection) -> list[Member]:
    """Return all live nodes, servers before referees, the oldest of each kind first."""
    now = dialect.of(connection).now_ms(connection)
    counts = select(units.c.holder, func.count().label("units")).where(units.c.holder.is_not(None))
    held = counts.group_by(units.c.holder).subquery()
    rows = connection.execute(
        select(nodes, func.coalesce(held.c.units, 0).label("units"))
        .outerjoin(held, held.c.holder == nodes.c.name)
        .where(nodes.c.seen_at >= now - LIFETIME_MS)
        .order_by(nodes.c.kind, nodes.c.started_at, nodes.c.name)
    )
    return [Member(row.name, NodeKind(row.kind), row.seats, (now - row.started_at) / 1000, row.units) for row in rows]


def has_referees(connection: Connection) -> bool:
    """Return whether referees of a cluster play the games."""
    return any(node.kind is NodeKind.REFEREE for node in alive(connection))


def accepted_kinds(connection: Connection) -> frozenset[str]:
    """Return the kinds of submitted bots that all live referees accept, apart from those that accept none."""
    accepts = [frozenset(node.accepts.split(",")) for node in alive(connection) if node.accepts]
    return frozenset.intersection(*accepts) if accepts else frozenset()
