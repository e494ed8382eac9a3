"""The members of a cluster: each server and referee sends heartbeats, timed by the database's clock.

A node counts as dead after its silence limit, which follows the intervals between its own heartbeats. These intervals
include all delays of the node's machine, event loop and database.

The usual heartbeat, `renew`, changes only the node's own row and does not wait for other writers. The lock of this row
orders it with the claims of other nodes: see `lock_dead`.
"""

from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, String, bindparam, cast, delete, func, select, update

from noughts_server.store.engine import dialect
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import LONGEST_SILENCE_MS, SILENCE_MS, nodes, units

BEAT_SECONDS = 1.0
"""The interval between heartbeats of a node of a cluster, in the database and on the bus."""
_INTERVALS = 3
"""The silence limit is at least this multiple of the longest recent interval between heartbeats."""
_DECAY = 0.98
"""The factor by which each heartbeat in time shortens a silence limit: by half within 35 s."""
_FORGOTTEN_MS = 3_600_000
"""The silence after which the row of a node is deleted."""


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
    silence_ms: int = SILENCE_MS
    """Its silence limit."""
    version: str = ""
    """The release of Noughts that it runs."""
    speed: float = 0.0
    """The speed of its machine (`machine_speed`); 0 if it plays no games."""


class Beat(NamedTuple):
    """The answer to a heartbeat."""

    alive: tuple[Node, ...]
    """All live nodes, including this one, oldest first."""
    silent_ms: int
    """Time since the previous heartbeat; 0 for the first."""
    was_dead: bool
    """Whether other nodes considered this node dead and could claim its units."""
    holds: frozenset[tuple[int, int]]
    """If it was dead: the units, by tournament and number, that no other node has claimed."""
    summary: str = ""
    """The names, ages and silence limits of the live nodes in one text; empty: not read."""


class Member(NamedTuple):
    """A node as other nodes see it."""

    name: str
    kind: NodeKind
    seats: int
    seconds: float
    """Time since its start."""
    units: int
    silence_seconds: float
    """Its silence limit."""
    silent_seconds: float
    """Time since its last heartbeat."""
    version: str
    """The release of Noughts that it runs; empty: unknown."""
    speed: float
    """The speed of its machine; 0 if it plays no games."""

    @property
    def host(self) -> str:
        """Return the machine, truncated as in its name."""
        return self.name.split("-", 1)[1].rsplit("-", 2)[0]


def silence_limit(silence_ms: int, interval_ms: int) -> int:
    """Return a node's silence limit in milliseconds, from its previous one and its last interval between heartbeats."""
    limit = max(SILENCE_MS, round(silence_ms * _DECAY), _INTERVALS * interval_ms)
    return min(limit, LONGEST_SILENCE_MS)


def beat(connection: Connection, node: Node, *, first: bool = False, youngest: bool = False) -> Beat:
    """Record a heartbeat of the node; `first` means that it was never a member. Writes.

    A node that returns after its silence limit does not count as lost. From then on it counts as the youngest node, so
    that the work that only the oldest node does stays elsewhere. With `youngest`, the node also becomes the youngest.
    """
    now = dialect.of(connection).now_ms(connection)
    earlier = connection.execute(select(nodes).where(nodes.c.name == node.name)).one_or_none()
    silent_ms = now - earlier.seen_at if earlier else 0
    was_dead = silent_ms > earlier.silence_ms if earlier else not first
    limit = silence_limit(earlier.silence_ms, silent_ms) if earlier else SILENCE_MS
    started_at = earlier.started_at if earlier else now
    joined_at = now if earlier is None or was_dead or youngest else earlier.joined_at
    row = (
        node.name,
        int(node.kind),
        started_at,
        now,
        node.seats,
        node.accepts,
        limit,
        joined_at,
        node.version,
        node.speed,
    )
    upsert(connection, nodes, [row], replace=("seen_at", "seats", "silence_ms", "joined_at"))
    connection.execute(delete(nodes).where(nodes.c.seen_at < now - _FORGOTTEN_MS))
    holds: frozenset[tuple[int, int]] = frozenset()
    if was_dead:
        _remove_from_lost(connection, node.name)
        claimed = select(units.c.tournament_id, units.c.number).where(units.c.holder == node.name)
        holds = frozenset((row.tournament_id, row.number) for row in connection.execute(claimed))
    return Beat(alive(connection), silent_ms, was_dead, holds)


def renew(connection: Connection, node: Node, previous: Beat | None = None) -> Beat | None:
    """Record a heartbeat of a live member. Return None, and change nothing, if it needs `beat`. Writes.

    `previous` is the answer to the node's previous heartbeat. If the live nodes are the same, their rows are not read:
    a hundred nodes would read ten thousand rows a second.

    It needs `beat` if the node has no row, or if others could consider it dead. This function locks only the node's
    row, so it can run next to another writing transaction.
    """
    own = nodes.c.name == node.name
    earlier = connection.execute(select(nodes).where(own).with_for_update()).one_or_none()
    # Read the clock only now: if a claim held the lock of the row, it has considered this node dead at an earlier time.
    now = dialect.of(connection).now_ms(connection)
    if earlier is None or now - earlier.seen_at > earlier.silence_ms:
        return None
    silent_ms = now - earlier.seen_at
    values = {"seen_at": now, "silence_ms": silence_limit(earlier.silence_ms, silent_ms)}
    connection.execute(update(nodes).where(own).values(values))
    summary = connection.scalar(_SUMMARY, {"now": now}) or ""
    live = previous.alive if previous is not None and previous.summary == summary else alive(connection)
    return Beat(live, silent_ms, was_dead=False, holds=frozenset(), summary=summary)


def is_alive(now: int | ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition for rows of nodes that are alive at this time by the database's clock."""
    return nodes.c.seen_at + nodes.c.silence_ms >= now


_LIVE = (
    select((nodes.c.name + cast(nodes.c.joined_at, String) + ":" + cast(nodes.c.silence_ms, String)).label("node"))
    .where(is_alive(bindparam("now", type_=BigInteger)))
    .order_by(nodes.c.name)
    .subquery()
)
_SUMMARY = select(func.aggregate_strings(_LIVE.c.node, ","))
"""Reads `Beat.summary`."""


def lock_dead(connection: Connection, names: Collection[str]) -> frozenset[str]:
    """Return those of these nodes that are dead, and that stay dead until this transaction ends. Writes.

    A heartbeat of a returned node waits for the end of this transaction, and then learns that it was dead. A node whose
    heartbeat is not committed yet is not dead, so this function does not wait for it.
    """
    this = nodes.c.name.in_(names)
    unknown = frozenset(names).difference(connection.scalars(select(nodes.c.name).where(this)))
    now = dialect.of(connection).now_ms(connection)
    dead = select(nodes.c.name).where(this, ~is_alive(now)).with_for_update(skip_locked=True)
    return unknown.union(connection.scalars(dead))


def _remove_from_lost(connection: Connection, name: str) -> None:
    """Remove a node that has returned from the lists of lost nodes of all units."""
    for row in connection.execute(select(units).where(units.c.lost.is_not(None))).all():
        if name in row.lost:
            others = [other for other in row.lost if other != name]
            unit = (units.c.tournament_id == row.tournament_id) & (units.c.number == row.number)
            connection.execute(update(units).where(unit).values(lost=others or None))


def leave(connection: Connection, name: str) -> None:
    """Remove a node that ends, and release its units, so that other nodes can claim them at once. Writes."""
    connection.execute(update(units).where(units.c.holder == name).values(holder=None))
    connection.execute(delete(nodes).where(nodes.c.name == name))


def alive(connection: Connection) -> tuple[Node, ...]:
    """Return all live nodes, oldest first.

    The age of a node that returned after its silence limit counts from its return.
    """
    now = dialect.of(connection).now_ms(connection)
    live = select(nodes).where(is_alive(now))
    rows = connection.execute(live.order_by(nodes.c.joined_at, nodes.c.name))
    return tuple(
        Node(
            name=row.name,
            kind=NodeKind(row.kind),
            seats=row.seats,
            accepts=row.accepts,
            silence_ms=row.silence_ms,
            version=row.version,
            speed=row.speed,
        )
        for row in rows
    )


def members(connection: Connection) -> list[Member]:
    """Return all live nodes, servers before referees, the oldest of each kind first."""
    now = dialect.of(connection).now_ms(connection)
    counts = select(units.c.holder, func.count().label("units")).where(units.c.holder.is_not(None))
    claimed = counts.group_by(units.c.holder).subquery()
    rows = connection.execute(
        select(nodes, func.coalesce(claimed.c.units, 0).label("units"))
        .outerjoin(claimed, claimed.c.holder == nodes.c.name)
        .where(is_alive(now))
        .order_by(nodes.c.kind, nodes.c.joined_at, nodes.c.name)
    )
    return [
        Member(
            name=row.name,
            kind=NodeKind(row.kind),
            seats=row.seats,
            seconds=(now - row.started_at) / 1000,
            units=row.units,
            silence_seconds=row.silence_ms / 1000,
            silent_seconds=max(0, now - row.seen_at) / 1000,
            version=row.version,
            speed=row.speed,
        )
        for row in rows
    ]


def has_referees(connection: Connection) -> bool:
    """Return whether referees of a cluster play the games."""
    return any(node.kind is NodeKind.REFEREE for node in alive(connection))


def accepted_kinds(connection: Connection) -> frozenset[str]:
    """Return the kinds of submitted bots that every live referee accepts. Referees that accept none do not count."""
    accepts = [frozenset(node.accepts.split(",")) for node in alive(connection) if node.accepts]
    return frozenset.intersection(*accepts) if accepts else frozenset()
