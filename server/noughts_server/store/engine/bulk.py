"""Few statements for many rows or keys."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Table

Item = TypeVar("Item")

# One statement writes many rows, because sqlite3 releases the GIL at each step and can wait milliseconds to get it back
# from a busy event loop. With one step for each row, a batch of 3,000 games took three seconds.
_ROWS_A_STATEMENT = 256
_KEPT_STATEMENTS = 64
"""Statements in the cache."""
_KEYS_A_STATEMENT = 1000
"""For keys of one column; statements with deeply nested conditions need fewer."""


def in_batches(keys: Iterable[Item], size: int = _KEYS_A_STATEMENT) -> Iterator[Sequence[Item]]:
    """Yield the keys in order, at most `size` at a time, because databases limit the parameters of one statement."""
    iterator = iter(keys)
    while batch := list(islice(iterator, size)):
        yield batch


def powers_of_two(rows: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Split rows into groups of powers of two, so that only a few statements need to be prepared and cached."""
    begin = 0
    size = _ROWS_A_STATEMENT
    while begin < len(rows):
        while size > len(rows) - begin:
            size //= 2
        yield rows[begin : begin + size]
        begin += size


def upsert(
    connection: Connection,
    table: Table,
    rows: Sequence[tuple[Any, ...]],
    *,
    add: tuple[str, ...] = (),
    replace: tuple[str, ...] = (),
) -> None:
    """Insert rows: values of all columns, in the table's order. No key can occur twice in `rows`.

    If the primary key of a row exists already, its values are added to the columns `add` and overwrite the columns
    `replace`. Other columns stay unchanged.
    """
    place = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    for part in powers_of_two(rows):
        statement = _upsert_statement(table, len(part), add, replace, place)
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(part)))


@lru_cache(maxsize=_KEPT_STATEMENTS)
def _upsert_statement(table: Table, count: int, add: tuple[str, ...], replace: tuple[str, ...], place: str) -> str:
    """Return the statement that inserts or updates `count` rows; `place` is the driver's placeholder for a value."""
    columns = ", ".join(column.name for column in table.columns)
    row = ",".join([place] * len(table.columns))
    key = ", ".join(column.name for column in table.primary_key.columns)
    changes = [f"{name} = {table.name}.{name} + excluded.{name}" for name in add]
    changes += [f"{name} = excluded.{name}" for name in replace]
    change = f"UPDATE SET {', '.join(changes)}" if changes else "NOTHING"
    return (
        f"INSERT INTO {table.name} ({columns}) VALUES {','.join([f'({row})'] * count)}"  # noqa: S608  # only names
        f" ON CONFLICT ({key}) DO {change}"
    )
