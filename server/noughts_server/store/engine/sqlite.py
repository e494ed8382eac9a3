"""SQLite: the functions that `dialect` needs."""

import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import IO, Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from noughts_referee.work_units import FinishedGame
from noughts_server.core.addresses import without_passwords
from noughts_server.core.errors import BadDatabaseUrl, DatabaseUnusable
from noughts_server.store.engine import sqlite_errors
from noughts_server.store.engine.addresses import shown_address
from noughts_server.store.engine.bulk import powers_of_two
from noughts_server.store.engine.finished_rows import COLUMNS, finished_row

# Rows of up to 2,030 bytes fit into their page (a timed game that fills a 15x15 board has 1,140). With SQLite's default
# of 4,096 bytes a page, a row of more than 1,002 bytes in a table without rowid needs an overflow page.
_PAGE_BYTES = 8_192
_JOURNAL_BYTES = 64 << 20
"""The size to which SQLite truncates the write-ahead log after a checkpoint."""
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700

_KEPT_STATEMENTS = 64
_MOST_FINDINGS = 100
"""Limit of the reported findings."""


def url_of(file: Path | str) -> str:
    """Return the address of the database in a file; the path can have any characters."""
    return URL.create("sqlite", database=str(file)).render_as_string(hide_password=False)


def parse_url(url: str) -> URL:
    """Parse the address of a database, e.g. `sqlite:////var/lib/noughts.db`. Raises BadDatabaseUrl."""
    expected = "e.g. `sqlite:///relative/path.db` or `sqlite:////absolute/path.db`"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: the port
        raise BadDatabaseUrl(without_passwords(url), expected=expected) from None
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise BadDatabaseUrl(shown_address(parsed), expected=expected)
    if not parsed.database or parsed.database == ":memory:" or parsed.query:
        # Every thread has its own connection, and in memory each would be a separate database.
        raise BadDatabaseUrl(without_passwords(url), expected=f"a file, {expected}")
    return parsed


def place(url: URL) -> str:
    """Return the name of the database for messages: its file."""
    return str(url.database)


def _file(url: URL) -> Path:
    """Return the file that SQLite opens, after all symbolic links. SQLite keeps its log next to it."""
    return Path(os.path.realpath(str(url.database)))


def prepare_place(url: URL) -> bool:
    """Create a missing folder and file for this user only, and close an existing file to other users.

    SQLite gives its log files the same mode. A process of another user that can read them could lock them and block the
    server. Returns whether a file was closed to other users. Raises OSError, and DatabaseUnusable for a file with
    several names: SQLite would keep a log for each name, and processes would overwrite the games of each other.
    """
    path = _file(url)
    if not path.parent.is_dir():
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _FILE_MODE))
    state = path.stat()
    if S_ISREG(state.st_mode) and state.st_nlink > 1:
        problem = f"the file has {state.st_nlink} names (hard links), and SQLite keeps a separate log for each"
        raise DatabaseUnusable(place(url), problem, hint="Delete the other names, or copy the file and use the copy.")
    is_closed = False
    if sys.platform == "win32":
        return is_closed
    for file in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", ".lock"))):
        with suppress(FileNotFoundError):
            status = file.stat()
            # Skip cases that would fail anyway: files of another user and read-only disks.
            if S_ISREG(status.st_mode) and status.st_mode & ~_FILE_MODE & 0o777 and status.st_uid == os.geteuid():
                with suppress(OSError):
                    file.chmod(S_IMODE(status.st_mode) & _FILE_MODE)
                    is_closed = True
    return is_closed


def remove_if_empty(url: URL) -> None:
    """Remove the empty file that a failed creation leaves."""
    path = Path(str(url.database))
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()


def is_new(url: URL) -> bool:
    """Return whether the file is missing."""
    return not Path(str(url.database)).exists()


def not_created(url: URL) -> DatabaseUnusable:
    """Return the error of a command that needs the file, but does not create it."""
    hint = "Check --db. `noughts serve` and `noughts token create` create a missing database."
    return DatabaseUnusable(place(url), "it does not exist", hint=hint)


def size_bytes(url: URL, connection: Connection) -> int:
    """Return the size of the database's file and of its write-ahead log."""
    files = (Path(f"{_file(url)}{suffix}") for suffix in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def lock_for_one_server(url: URL, connection: Connection) -> IO[str] | None:
    """Lock the database for one server until the returned file is closed or its process ends.

    The lock is next to the real file of the database, whatever symbolic links lead to it. Raises BlockingIOError if
    another process has the lock. Returns None on Windows, which has no such lock.
    """
    return locked(f"{_file(url)}.lock")


def locked(path: str | Path) -> IO[str] | None:
    """Lock a file like `lock_for_one_server`, and create it if it is missing."""
    if sys.platform == "win32":
        return None
    import fcntl

    file = open(path, "a", opener=partial(os.open, mode=_FILE_MODE))  # noqa: SIM115  # closed by the caller
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def make_engine(url: URL, connections: int, busy_seconds: float, *, writes: bool) -> Engine:
    """Create an engine with a pool of `connections`; any thread may use one at a time.

    With `writes`, a transaction locks the database before it reads anything. Without it, statements that would change
    the database fail, and the file can be read-only.
    """
    target = place(url)
    read_only = not writes and not is_new(url) and sqlite_errors.unwritable(Path(target)) is not None
    if read_only:
        # SQLite cannot create a log here. With `immutable` it assumes that no process writes. If a log exists, a
        # process does.
        log = Path(f"{_file(url)}-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        target = f"file:{quote(os.path.abspath(target))}?{mode}"
    connect = partial(sqlite3.connect, target, busy_seconds, check_same_thread=False, uri=read_only)
    engine = create_engine(url, creator=connect, pool_size=connections, max_overflow=0)
    if not read_only:
        event.listen(engine, "connect", _set_up)
    if not writes:
        # Not `mode=ro`, because a reader of a database in WAL mode sometimes has to recover it after a crash.
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def make_row_engine(url: URL, busy_seconds: float) -> None:
    """Return None: SQLite locks no single rows."""


def answers(url: URL) -> bool:
    """Return True: there is no server that could be silent."""
    return True


def cut_off(engine: Engine) -> None:
    """Do nothing: no statement waits for a server."""


def check_writable(connection: Connection) -> None:
    """Write a page, because only an attempt shows whether the database can be written."""
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    connection.exec_driver_sql(f"PRAGMA user_version = {version}")


def now_ms(connection: Connection) -> int:
    """Return the time of this machine, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def insert_games(connection: Connection, games: Sequence[FinishedGame], ended_at: int) -> None:
    """Store games."""
    for part in powers_of_two(games):
        parameters: list[int | float | bytes | str | None] = [ended_at]
        for game in part:
            parameters += finished_row(game)
        connection.exec_driver_sql(_insert_statement(len(part)), tuple(parameters))


def findings(connection: Connection) -> Iterator[str]:
    """Yield the first findings of SQLite's own check."""
    try:
        for (finding,) in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_FINDINGS})"):
            if finding != "ok":
                yield " ".join(str(finding).split())
        for table, _, parent, _ in islice(connection.exec_driver_sql("PRAGMA foreign_key_check"), _MOST_FINDINGS):
            yield f"a row of {table} points to a row of {parent} that is not there"
    except DBAPIError as error:
        yield str(error.orig)


translate = sqlite_errors.translate
unusable = sqlite_errors.unusable
guard = sqlite_errors.guard


@lru_cache(maxsize=_KEPT_STATEMENTS)
def _insert_statement(count: int) -> str:
    # Numbered parameters would avoid the SELECT, but take longer than the rest of the statement.
    columns = ", ".join(COLUMNS)
    places = ",".join("?" * len(COLUMNS))
    rows = ",".join([f"({places})"] * count)
    return f"INSERT INTO games (ended_at, {columns}) SELECT ?, * FROM (VALUES {rows})"  # noqa: S608  # only names


def _set_up(dbapi_connection: Any, _: ConnectionPoolEntry) -> None:
    # `make_engine` begins transactions, because Python would begin them too late.
    dbapi_connection.isolation_level = None
    cursor = dbapi_connection.cursor()
    cursor.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    cursor.execute("PRAGMA journal_mode = WAL")
    # In WAL mode a crash of the machine can lose the last commits, but not the database. A crash of the process loses
    # nothing.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}")
    cursor.close()
