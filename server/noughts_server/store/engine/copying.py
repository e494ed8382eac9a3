"""Copy a whole database to another one of any kind."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, text

from noughts_server.core.errors import DatabaseUnusable
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import metadata, nodes, programs

_ROWS_AT_ONCE = 1_000
"""Rows of a batch."""


async def copy_database(
    source: Store, target: Store, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> dict[str, int]:
    """Copy all rows in one transaction and compare each with its copy; return the number of rows by table.

    `on_progress` is called after each batch with the number of steps done and of all steps: two for each row, to copy
    and to compare it. Raises DatabaseUnusable if the target is not empty or the copy differs; the target is then
    unchanged.
    """
    loop = asyncio.get_running_loop()

    def copy_from(source_connection: Connection) -> dict[str, int]:
        # This runs in a thread of the source. The other transaction runs in a thread of the target.
        copy = target.write(lambda connection: _copy(source_connection, connection, target.url, on_progress))
        return asyncio.run_coroutine_threadsafe(copy, loop).result()

    return await source.read(copy_from)


def _copy(source: Connection, target: Connection, name: str, on_progress: Callable[[int, int], None]) -> dict[str, int]:
    # The members of the source's cluster do not belong to a cluster of the target.
    tables = [table for table in metadata.sorted_tables if table is not nodes]
    for table in tables:
        if target.execute(select(func.count()).select_from(table)).scalar_one():
            raise DatabaseUnusable(name, f"it already contains {table.name}", hint="Choose an empty database.")
    counts: dict[str, int] = {
        table.name: source.execute(select(func.count()).select_from(table)).scalar_one() for table in tables
    }
    total = 2 * sum(counts.values())
    done = 0
    for table in tables:
        for rows in _parts(source, table):
            target.execute(insert(table), [dict(row._mapping) for row in rows])
            done += len(rows)
            on_progress(done, total)
        if target.dialect.name == "postgresql" and "id" in table.c:
            _advance_sequence(target, table)
    for table in tables:
        for one, other in zip_longest(_parts(source, table), _parts(target, table)):
            if one != other:
                raise DatabaseUnusable(name, f"its {table.name} differ from those of the source", hint="Try again.")
            done += len(one)
            on_progress(done, total)
    return counts


def _parts(connection: Connection, table: Table) -> Iterator[list[Any]]:
    """Yield all rows in the order of their keys, in batches."""
    rows = 1 if table is programs else _ROWS_AT_ONCE
    ordered = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=rows)
    for part in connection.execute(ordered).partitions():
        yield list(part)


def _advance_sequence(target: Connection, table: Table) -> None:
    """Set the sequence of the table so that the next row gets an unused number."""
    target.execute(
        text(
            f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), max(id)) FROM {table.name} HAVING max(id) > 0"  # noqa: S608  # a name of ours
        )
    )
