"""Who belongs to a cluster: each server and referee says again and again that it lives, by the database's own clock."""

from enum import IntEnum
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from noughts_server.store import dialect
from noughts_server.store.schema import nodes

LIFETIME_MS = 5_000
"""Who has not been seen for so long counts as dead: what it held is anybody's."""
_FORGOTTEN_MS = 3_600_000


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


def beat(connection: Connection, node: Node) -> Beat:
    """The node lives. Writes."""
    now = dialect.of(connection).now_ms(connection)
    known = connection.execute(select(nodes).where(nodes.c.name == node.name)).one_or_none()
    row = (node.name, int(node.kind), known.started_at if known else now, now, node.seats)
    dialect.of(connection).upsert(connection, nodes, [row], replace=("seen_at", "seats"))
    connection.execute(delete(nodes).where(nodes.c.seen_at < now - _FORGOTTEN_MS))
    return Beat(_alive(connection, now), now - known.seen_at if known else 0)


def leave(connection: Connection, name: str) -> None:
    """The node ends, and need not be waited for. Writes."""
    connection.execute(delete(nodes).where(nodes.c.name == name))


def alive(connection: Connection) -> tuple[Node, ...]:
    """All that live, the oldest first."""
    return _alive(connection, dialect.of(connection).now_ms(connection))


def has_referees(connection: Connection) -> bool:
    """Whether games are played by referees of a cluster."""
    return any(node.kind is NodeKind.REFEREE for node in alive(connection))


def _alive(connection: Connection, now: int) -> tuple[Node, ...]:
    rows = connection.execute(
        select(nodes).where(nodes.c.seen_at >= now - LIFETIME_MS).order_by(nodes.c.started_at, nodes.c.name)
    )
    return tuple(Node(row.name, NodeKind(row.kind), row.seats) for row in rows)
