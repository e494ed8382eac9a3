"""Stores of one process share their compiled statements: to compile a statement takes longer than most queries.

SQLAlchemy keeps them for each database, and nearly each test has a database of its own.
"""

from typing import Any

from sqlalchemy import Engine  # noqa: TID251  # no store can share with another one
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg  # noqa: TID251
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite  # noqa: TID251
from sqlalchemy.util import LRUCache  # noqa: TID251

_compiled = LRUCache[Any, Any](2_000)


def share_compiled_statements() -> None:
    """Let all databases of a kind share compiled statements. SQLAlchemy finds them by statement and dialect."""
    for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        dialect.__eq__ = _are_of_one_kind  # type: ignore[method-assign]
        dialect.__hash__ = _hash_of_kind  # type: ignore[method-assign,assignment]
        dialect.engine_created = classmethod(_use_shared)  # type: ignore[method-assign,assignment]


def _are_of_one_kind(dialect: object, other: object) -> bool:
    return type(dialect) is type(other)


def _hash_of_kind(dialect: object) -> int:
    return hash(type(dialect))


def _use_shared(dialect: type, engine: Engine) -> None:
    engine.update_execution_options(compiled_cache=_compiled)
