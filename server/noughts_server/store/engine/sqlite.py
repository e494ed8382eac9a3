"""SQLite: what `dialect` asks of a database."""

import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import IO, Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from noughts_referee.work_units import FinishedGame
from noughts_server.errors import BadDatabaseUrl, DatabaseUnusable, NoughtsError
from noughts_server.store.engine import troubles
from noughts_server.store.engine.bulk import powers_of_two

# Rows of up to 2,030 bytes stay within their page (a timed game that fills a 15x15 board has 1,140); with SQLite's
# usual 4,096 bytes a page, a row of a table without rowid beyond 1,002 bytes takes an overflow page of its own.
_PAGE_BYTES = 8_192
_JOURNAL_BYTES = 64 << 20
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700

_KEPT_STATEMENTS = 64
_MOST_FINDINGS = 100


def url_of(file: Path | str) -> str:
    """Return the address of the database in a file, whatever characters the path of the file has."""
    return URL.create("sqlite", database=str(file)).render_as_string(hide_password=False)


def parse_url(url: str) -> URL:
    """Reads the address of a database, e.g. `sqlite:////var/lib/noughts.db`. Raises BadDatabaseUrl."""
    expected = "e.g. `sqlite:///relative/path.db` or `sqlite:////absolute/path.db`"
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise BadDatabaseUrl(url, expected) from None
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise BadDatabaseUrl(parsed.render_as_string(), expected)
    if not parsed.database or parsed.database == ":memory:" or parsed.query:
        # Every thread has its own connection, and to SQLite each would be another database.
        raise BadDatabaseUrl(url, f"a file, {expected}")
    return parsed


def place(url: URL) -> str:
    """What the database is called in messages: its file."""
    return str(url.database)


def prepare_place(url: URL) -> bool:
    """Makes the folder and the file where there are none, for this user alone; closes a file that others may read.

    SQLite gives the files that it makes beside it the same rights. A process that may only read them could hold their
    locks, and so everything up. Returns whether a file was closed to others. Raises OSError.
    """
    path = Path(str(url.database))
    if not path.parent.is_dir():
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _FILE_MODE))
    closed = False
    if sys.platform == "win32":
        return closed
    for file in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", ".lock"))):
        with suppress(FileNotFoundError):
            status = file.stat()
            # Not where it would fail anyway: the file of somebody else, and a read-only disk.
            if S_ISREG(status.st_mode) and status.st_mode & ~_FILE_MODE & 0o777 and status.st_uid == os.geteuid():
                with suppress(OSError):
                    file.chmod(S_IMODE(status.st_mode) & _FILE_MODE)
                    closed = True
    return closed


def remove_if_empty(url: URL) -> None:
    """Leaves nothing of a database that could not be made."""
    path = Path(str(url.database))
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()


def is_new(url: URL) -> bool:
    """Whether there is no such database yet."""
    return not Path(str(url.database)).exists()


def is_writable(url: URL) -> bool:
    """Whether the file, if there is one, can be written, for all that is seen from outside."""
    return is_new(url) or troubles.unwritable(Path(place(url))) is None


def size_bytes(url: URL) -> int:
    """The size of the database's file and of its write-ahead log."""
    files = (Path(f"{url.database}{suffix}") for suffix in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def lock_for_one(url: URL) -> IO[str] | None:
    """Locks the database for one server until the returned file is closed, or its process ends.

    Raises BlockingIOError when another one has it. None where there is no such lock (Windows).
    """
    if sys.platform == "win32":
        return None
    import fcntl

    file = open(f"{url.database}.lock", "a", opener=_for_this_user)  # noqa: SIM115  # closed with the store
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _for_this_user(path: str, flags: int) -> int:
    return os.open(path, flags, _FILE_MODE)


def make_engine(url: URL, connections: int, busy_seconds: float, *, writes: bool) -> Engine:
    """An engine with a pool of so many connections, which any thread may use one at a time.

    Transactions of one that writes take the database before they read anything. In one that does not, a statement that
    would change anything fails; it also reads a file that cannot be written.
    """
    target, read_only = place(url), not writes and not is_writable(url)
    if read_only:
        # Unless its log is in use, SQLite has to be told that nobody writes: it cannot make the file to find out.
        log = Path(f"{target}-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        target = f"file:{quote(os.path.abspath(target))}?{mode}"
    engine = create_engine(
        url,
        creator=lambda: sqlite3.connect(target, busy_seconds, check_same_thread=False, uri=read_only),
        pool_size=connections,
        max_overflow=0,
    )
    if not read_only:
        event.listen(engine, "connect", _set_up)
    if not writes:
        event.listen(engine, "connect", _forbid_writing)
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def write_for_real(connection: Connection) -> None:
    """Writes a page: whether that goes is not known before."""
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    connection.exec_driver_sql(f"PRAGMA user_version = {version}")


def next_attempt(connection: Connection, table: Table, **key: int) -> int:
    """Counts the column `attempt` of the row with this key up, from 0 where there is none, and returns it."""
    statement = sqlite_insert(table).values(attempt=1, **key)
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns), set_={"attempt": table.c.attempt + 1}
    )
    return int(connection.execute(statement.returning(table.c.attempt)).scalar_one())


def now_ms(connection: Connection) -> int:
    """What time it is on this machine, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def insert_games(connection: Connection, games: Sequence[FinishedGame], ended_at: int) -> None:
    """Stores games whose slots are free; raises IntegrityError when one is not."""
    for part in powers_of_two(games):
        parameters: list[int | bytes | str | None] = [ended_at]
        for (
            tournament,
            ordinal,
            attempt,
            first,
            second,
            result,
            termination,
            moves,
            times,
            fault,
            opening_plies,
            allowances,
        ) in part:
            # A plus makes plain numbers of members of enumerations, which sqlite3 would look adapters up for.
            parameters += (
                tournament,
                ordinal,
                attempt,
                first,
                second,
                +result,
                +termination,
                moves,
                times,
                fault or None,
                opening_plies,
                allowances,
            )
        connection.exec_driver_sql(_insert_statement(len(part)), tuple(parameters))


def findings(connection: Connection) -> Iterator[str]:
    """What the database's own check finds, the first of it."""
    try:
        for row in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_FINDINGS})"):
            if row[0] != "ok":
                yield " ".join(str(row[0]).split())
        for row in islice(connection.exec_driver_sql("PRAGMA foreign_key_check"), _MOST_FINDINGS):
            yield f"a row of {row[0]} points to a row of {row[2]} that is not there"
    except DBAPIError as error:
        yield str(error.orig)


def named(error: DBAPIError) -> NoughtsError | None:
    """The error by our name for it; None for one of ours, as of a statement that is wrong."""
    return troubles.named(error)


def unusable(url: URL, error: NoughtsError) -> DatabaseUnusable:
    """What keeps a database from being opened, with its place, and what to do."""
    return troubles.unusable(Path(place(url)), error)


def identity(url: URL) -> troubles.Identity | None:
    """Which files the database is; None where it is none."""
    return troubles.identity(place(url))


def missing(url: URL, before: troubles.Identity) -> str | None:
    """What has become of the files of an open database; None: they are there."""
    return troubles.missing(before, troubles.identity(place(url)))


@lru_cache(maxsize=_KEPT_STATEMENTS)
def _insert_statement(count: int) -> str:
    # In the order of a FinishedGame's fields. Numbered parameters would spare the SELECT, but cost more than all else.
    columns = (
        "tournament_id, ordinal, attempt, first_entry, second_entry, result, termination, moves, times, fault, "
        "opening_plies, allowances"
    )
    row = ",".join("?" * len(FinishedGame._fields))
    rows = ",".join([f"({row})"] * count)
    return f"INSERT INTO games (ended_at, {columns}) SELECT ?, * FROM (VALUES {rows})"  # noqa: S608  # only names


def _set_up(dbapi_connection: Any, _: ConnectionPoolEntry) -> None:
    # Transactions are begun by us (see `make_engine`); Python's own handling would begin them too late.
    dbapi_connection.isolation_level = None
    cursor = dbapi_connection.cursor()
    cursor.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    cursor.execute("PRAGMA journal_mode = WAL")
    # In WAL mode a crash of the machine may lose the last commits, never the database; of the process, nothing.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}")
    cursor.close()


def _forbid_writing(dbapi_connection: Any, _: ConnectionPoolEntry) -> None:
    # Not `mode=ro`: a reader of a database in WAL mode may have to recover it after a crash.
    dbapi_connection.execute("PRAGMA query_only = ON")
