"""Back up a database, also one that is in use."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection, func, select

from noughts_server.core.errors import DatabaseDamaged, DatabaseUnusable
from noughts_server.store.engine import sqlite_errors
from noughts_server.store.engine.schema import games

_PAGES_AT_ONCE = 1024
"""Pages between two reports of progress."""
_FOR_THIS_USER = 0o600


def back_up(
    connection: Connection, target: Path, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> int:
    """Copy the database as this transaction sees it to the file `target`, completely or not at all; return its games.

    Other transactions can read and write meanwhile. Afterwards SQLite checks the copy, and the number of its games is
    compared. `on_progress` is called after each batch with the number of pages copied and of all pages. Raises
    DatabaseUnusable if the file exists already or cannot be written, or if the copy is damaged.
    """
    if connection.dialect.name != "sqlite":
        hint = "PostgreSQL has `pg_dump`; `noughts db copy FROM TO` copies it to an SQLite file."
        raise DatabaseUnusable(str(connection.engine.url), "only SQLite files can be copied this way", hint=hint)
    if target.exists():
        raise DatabaseUnusable(str(target), "it already exists", hint="Choose another file, or rename this one.")
    # The first read fixes the state of the database that this transaction sees.
    count: int = connection.execute(select(func.count()).select_from(games)).scalar_one()
    source: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
    partial = target.with_name(f"{target.name}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _FOR_THIS_USER))
        try:
            with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
                source.backup(
                    copy,
                    pages=_PAGES_AT_ONCE,
                    progress=lambda _, pages_left, total: on_progress(total - pages_left, total),
                    sleep=0,
                )
                # This makes the copy a single file; a server switches the write-ahead log on again.
                copy.execute("PRAGMA journal_mode = DELETE")
                _verify(copy, partial, count)
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            os.link(partial, target)
        finally:
            _remove(partial)
    except FileExistsError as error:
        hint = "Another backup might be running; if not, delete this file."
        raise DatabaseUnusable(str(error.filename2 or error.filename), "it already exists", hint=hint) from error
    except OSError as error:
        hint = "Choose another place for the backup."
        raise DatabaseUnusable(str(target), f"it cannot be written ({error.strerror})", hint=hint) from error
    except sqlite3.Error as error:
        translated = sqlite_errors.translate(error)
        raise error if translated is None else sqlite_errors.unusable(str(target), translated) from error
    return count


def _verify(copy: sqlite3.Connection, place: Path, count: int) -> None:
    findings = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(1)")]
    if findings != ["ok"]:
        raise sqlite_errors.unusable(str(place), DatabaseDamaged(findings[0]))
    (copied,) = copy.execute("SELECT count(*) FROM games").fetchone()
    if copied != count:
        raise sqlite_errors.unusable(str(place), DatabaseDamaged(f"{copied} games instead of {count}"))


def _remove(partial: Path) -> None:
    for file in (partial, partial.with_name(f"{partial.name}-journal"), partial.with_name(f"{partial.name}-wal")):
        with suppress(OSError):
            file.unlink()
