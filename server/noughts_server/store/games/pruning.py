"""What nobody needs any more: old answers to repeated requests, old notes on games."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, delete, exists, func, select, tuple_

from noughts_server.store.engine.schema import game_notes, games, requests

REQUESTS_MS = 7 * 86_400_000
"""A request that comes again does so within minutes, or a restart."""
NOTES_MS = 90 * 86_400_000

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Leftover:
    """Rows of one table that may go."""

    name: str
    """In words, in the plural."""
    table: Table
    older_than_ms: int
    _old: Callable[[int], Any]

    def count(self, connection: Connection, now_ms: int) -> int:
        """How many there are."""
        return int(connection.execute(self._chosen(now_ms, func.count())).scalar_one())

    def drop_some(self, connection: Connection, now_ms: int) -> int:
        """Drops a thousand of them at most, so that nobody waits for long; returns how many. Writes."""
        keys = tuple(self.table.primary_key.columns)
        rows = connection.execute(self._chosen(now_ms, *keys).limit(_ROWS_AT_ONCE)).all()
        if rows:
            connection.execute(delete(self.table).where(tuple_(*keys).in_([tuple(row) for row in rows])))
        return len(rows)

    def _chosen(self, now_ms: int, *columns: Any) -> Select[Any]:
        return select(*columns).select_from(self.table).where(self._old(now_ms - self.older_than_ms))


def leftovers(requests_ms: int = REQUESTS_MS, notes_ms: int = NOTES_MS) -> tuple[Leftover, ...]:
    """What is dropped after so long."""
    return (
        Leftover("answers to requests", requests, requests_ms, lambda before: requests.c.created_at < before),
        Leftover("notes on games", game_notes, notes_ms, _noted),
    )


def _noted(before: int) -> Any:
    note, game = game_notes.c, games.c
    same = and_(game.tournament_id == note.tournament_id, game.ordinal == note.ordinal)
    return exists().where(same, game.ended_at < before)
