"""Delete what is no longer needed: old answers to requests, old notes on games, and tokens that ended long ago."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, delete, exists, func, or_, select, tuple_

from noughts_server.store.engine.schema import game_notes, games, requests, tokens

REQUESTS_MS = 7 * 86_400_000
"""Clients repeat a request within minutes, or after a restart."""
NOTES_MS = 90 * 86_400_000
TOKENS_MS = 30 * 86_400_000
"""Lists show a token for so long after it was revoked or has expired."""

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Leftover:
    """Rows of one table that can be deleted."""

    name: str
    """The name of the rows, in the plural, for messages."""
    table: Table
    older_than_ms: int
    _old: Callable[[int], Any]

    def count(self, connection: Connection, now_ms: int) -> int:
        return int(connection.execute(self._chosen(now_ms, func.count())).scalar_one())

    def drop_some(self, connection: Connection, now_ms: int) -> int:
        """Delete up to 1,000 rows, so that no other transaction waits for long; return their number. Writes."""
        keys = tuple(self.table.primary_key.columns)
        rows = connection.execute(self._chosen(now_ms, *keys).limit(_ROWS_AT_ONCE)).all()
        if rows:
            connection.execute(delete(self.table).where(tuple_(*keys).in_([tuple(row) for row in rows])))
        return len(rows)

    def _chosen(self, now_ms: int, *columns: Any) -> Select[Any]:
        return select(*columns).select_from(self.table).where(self._old(now_ms - self.older_than_ms))


def leftovers(requests_ms: int = REQUESTS_MS, notes_ms: int = NOTES_MS) -> tuple[Leftover, ...]:
    """Return what can be deleted after these ages."""
    return (
        Leftover("answers to requests", requests, requests_ms, lambda before: requests.c.created_at < before),
        Leftover("notes on games", game_notes, notes_ms, _noted),
    )


def ended_tokens() -> Leftover:
    """Return the tokens that were revoked or have expired long ago; drop the answers to their requests first.

    A token stays while others that it created are stored: revoking one also revokes those. The newest token stays, too,
    because SQLite would give its number to the next one.
    """
    return Leftover("ended tokens", tokens, TOKENS_MS, _ended)


def _ended(before: int) -> Any:
    made = tokens.alias()
    over = or_(tokens.c.revoked_at < before, tokens.c.expires_at < before)
    named = exists().where(made.c.made_by == tokens.c.id)
    answered = exists().where(requests.c.token_id == tokens.c.id)
    newest = select(func.max(made.c.id)).scalar_subquery()
    return and_(over, ~named, ~answered, tokens.c.id < newest)


def _noted(before: int) -> Any:
    note, game = game_notes.c, games.c
    same = and_(game.tournament_id == note.tournament_id, game.ordinal == note.ordinal)
    return exists().where(same, game.ended_at < before)
