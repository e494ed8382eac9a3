"""Who belongs to a cluster: each server and referee says again and again that it lives, by the database's own clock."""

from enum import IntEnum
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select

from noughts_server.store.engine import dialect
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import nodes, units

LIFETIME_MS = 5_000
"""Who has not been seen for so long counts as dead: what it held is anybody's."""
_FORGOTTEN_MS = 3_600_000
_MOST_HOST = 40


class NodeKind(IntEnum):
    """What a node does."""

    SERVER = 1
    REFEREE = 2


class Node(NamedTuple):
    """A process of the cluster."""

    name: str
    kind: NodeKind
    seats: int
    """Games of bots of its own that it plays at once."""


class Beat(NamedTuple):
    """What a node learns when it says that it lives."""

    alive: tuple[Node, ...]
    """All that live, itself among them, the oldest first."""
    silent_ms: int
    """How long it had not been seen; 0 at first."""


class Member(NamedTuple):
    """A node as others see it."""

    name: str
    kind: NodeKind
    seats: int
    seconds: float
    """Since it began."""
    units: int
    """Those that it is playing."""

    @property
    def host(self) -> str:
        """The name of its machine."""
        return host_of(self.name)


def named(kind: NodeKind, host: str, process: int, chance: str) -> str:
    """The name of a node: `KIND-HOST-PROCESS-CHANCE`."""
    return f"{kind.name.lower()}-{host[:_MOST_HOST]}-{process}-{chance}"


def host_of(name: str) -> str:
    """The machine in a node's name, as long as names have it."""
    return name.split("-", 1)[1].rsplit("-", 2)[0]


def beat(connection: Connection, node: Node) -> Beat:
    """The node lives. Writes."""
    now = dialect.of(connection).now_ms(connection)
    known = connection.execute(select(nodes).where(nodes.c.name == node.name)).one_or_none()
    row = (node.name, int(node.kind), known.started_at if known else now, now, node.seats)
    upsert(connection, nodes, [row], replace=("seen_at", "seats"))
    connection.execute(delete(nodes).where(nodes.c.seen_at < now - _FORGOTTEN_MS))
    return Beat(_alive(connection, now), now - known.seen_at if known else 0)


def leave(connection: Connection, name: str) -> None:
    """The node ends, and need not be waited for. Writes."""
    connection.execute(delete(nodes).where(nodes.c.name == name))


def alive(connection: Connection) -> tuple[Node, ...]:
    """All that live, the oldest first."""
    return _alive(connection, dialect.of(connection).now_ms(connection))


def members(connection: Connection) -> list[Member]:
    """All that live, the oldest of each kind first, servers before referees."""
    now = dialect.of(connection).now_ms(connection)
    held = (
        select(units.c.holder, func.count().label("units")).where(units.c.holder.is_not(None)).group_by(units.c.holder)
    ).subquery()
    rows = connection.execute(
        select(nodes, func.coalesce(held.c.units, 0).label("units"))
        .outerjoin(held, held.c.holder == nodes.c.name)
        .where(nodes.c.seen_at >= now - LIFETIME_MS)
        .order_by(nodes.c.kind, nodes.c.started_at, nodes.c.name)
    )
    return [Member(row.name, NodeKind(row.kind), row.seats, (now - row.started_at) / 1000, row.units) for row in rows]


def has_referees(connection: Connection) -> bool:
    """Whether games are played by referees of a cluster."""
    return any(node.kind is NodeKind.REFEREE for node in alive(connection))


def _alive(connection: Connection, now: int) -> tuple[Node, ...]:
    rows = connection.execute(
        select(nodes).where(nodes.c.seen_at >= now - LIFETIME_MS).order_by(nodes.c.started_at, nodes.c.name)
    )
    return tuple(Node(row.name, NodeKind(row.kind), row.seats) for row in rows)
