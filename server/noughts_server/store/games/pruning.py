"""Delete old rows: answers to requests, notes on games, and tokens that ended long ago."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, delete, exists, func, or_, select, tuple_

from noughts_server.store.engine.schema import game_notes, games, requests, tokens

REQUESTS_MS = 7 * 86_400_000
"""The age at which answers to requests can be deleted. Clients repeat a request within minutes, or after a restart."""
NOTES_MS = 90 * 86_400_000
"""The age at which notes on games can be deleted."""
TOKENS_MS = 30 * 86_400_000
"""The time after the end of a token (revoked or expired) for which lists still show it."""

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Leftover:
    """Rows of one table that can be deleted."""

    name: str
    """The name of the rows, in the plural, for messages."""
    table: Table
    older_than_ms: int
    _older_than: Callable[[int], Any]
    """Returns the condition for rows older than a time in milliseconds."""

    def count(self, connection: Connection, now_ms: int) -> int:
        return int(connection.execute(self._select(now_ms, func.count())).scalar_one())

    def drop_some(self, connection: Connection, now_ms: int) -> int:
        """Delete up to 1,000 rows, so that no other transaction waits for long; return their number. Writes."""
        keys = tuple(self.table.primary_key.columns)
        rows = connection.execute(self._select(now_ms, *keys).limit(_ROWS_AT_ONCE)).all()
        if rows:
            connection.execute(delete(self.table).where(tuple_(*keys).in_([tuple(row) for row in rows])))
        return len(rows)

    def _select(self, now_ms: int, *columns: Any) -> Select[Any]:
        return select(*columns).select_from(self.table).where(self._older_than(now_ms - self.older_than_ms))


def leftovers(requests_ms: int = REQUESTS_MS, notes_ms: int = NOTES_MS) -> tuple[Leftover, ...]:
    """Return the rows that can be deleted after these ages in milliseconds."""
    return (
        Leftover("answers to requests", requests, requests_ms, lambda before_ms: requests.c.created_at < before_ms),
        Leftover("notes on games", game_notes, notes_ms, _notes_before),
    )


def ended_tokens() -> Leftover:
    """Return the tokens that were revoked or have expired long ago. Drop the answers to their requests first.

    A token stays while tokens that it created are stored, because revoking it also revokes them. The newest token
    stays, because SQLite would give its number to the next token.
    """
    return Leftover("ended tokens", tokens, TOKENS_MS, _tokens_ended_before)


def _tokens_ended_before(before_ms: int) -> Any:
    others = tokens.alias()
    has_ended = or_(tokens.c.revoked_at < before_ms, tokens.c.expires_at < before_ms)
    has_created_others = exists().where(others.c.made_by == tokens.c.id)
    has_requests = exists().where(requests.c.token_id == tokens.c.id)
    newest = select(func.max(others.c.id)).scalar_subquery()
    return and_(has_ended, ~has_created_others, ~has_requests, tokens.c.id < newest)


def _notes_before(before_ms: int) -> Any:
    note, game = game_notes.c, games.c
    same = and_(game.tournament_id == note.tournament_id, game.ordinal == note.ordinal)
    return exists().where(same, game.ended_at < before_ms)
