"""Translate SQLite's errors, and find their causes in the database's folder."""

import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from noughts_server.core.errors import (
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFailing,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DatabaseUnusable,
    NoughtsError,
)

_KINDS: dict[int, type[DatabaseUnavailable | DatabaseDamaged]] = {
    sqlite3.SQLITE_BUSY: DatabaseBusy,
    sqlite3.SQLITE_LOCKED: DatabaseBusy,
    # A reader gives up after some seconds if another process never unlocks the -shm file.
    sqlite3.SQLITE_PROTOCOL: DatabaseBusy,
    sqlite3.SQLITE_FULL: DatabaseFull,
    sqlite3.SQLITE_READONLY: DatabaseReadOnly,
    sqlite3.SQLITE_IOERR: DatabaseFailing,
    sqlite3.SQLITE_CANTOPEN: DatabaseFailing,
    sqlite3.SQLITE_PERM: DatabaseFailing,
    sqlite3.SQLITE_CORRUPT: DatabaseDamaged,
    sqlite3.SQLITE_NOTADB: DatabaseDamaged,
}

# The size of the files that SQLite creates next to an empty database.
_LEAST_BYTES = 64 << 10

_FILES = {"": "its file", "-wal": "its write-ahead log", "-shm": "the index of its log"}


def translate(error: DBAPIError | sqlite3.Error) -> NoughtsError | None:
    """Return the NoughtsError for an error of SQLite; None if the statement itself was wrong."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code: int | None = getattr(cause, "sqlite_errorcode", None)
    if code is None:
        return None
    kind = _KINDS.get(code & 0xFF)
    if kind is DatabaseFailing and isinstance(cause, sqlite3.Error):
        # The name says which operation failed.
        return DatabaseFailing(str(cause), problem=f"{DatabaseFailing.problem} ({cause.sqlite_errorname})")
    return None if kind is None else kind(str(cause))


def unusable(place: str, error: NoughtsError) -> DatabaseUnusable:
    """Return the reason why a database cannot be opened, with its file and a hint."""
    path = Path(place)
    if isinstance(error, DatabaseDamaged):
        hint = "Choose another file with --db, or put a backup there."
        return DatabaseUnusable(place, f"the file is damaged or not a database ({error.got})", hint=hint)
    assert isinstance(error, DatabaseUnavailable)
    if isinstance(error, DatabaseFailing) and _free_bytes(path) < _LEAST_BYTES:
        error = DatabaseFull()
    if isinstance(error, DatabaseFailing | DatabaseReadOnly):
        obstacle = unwritable(path)
        if obstacle is not None:
            return DatabaseUnusable(place, obstacle, hint="Make it writable, or choose another place with --db.")
        return DatabaseUnusable(place, f"{error.problem} ({error.got})", hint=error.remedy)
    return DatabaseUnusable(place, error.problem, hint=error.remedy)


def _free_bytes(path: Path) -> int:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return sys.maxsize
    return disk.f_bavail * disk.f_frsize


def unwritable(path: Path) -> str | None:
    """Return why modes or disks prevent writing to the file; None if they do not."""
    folder = path.parent
    if path.is_dir():
        return "it is a folder"
    if not folder.is_dir():
        return f"its folder {folder} does not exist"
    if sys.platform != "win32" and os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"its folder {folder} is on a read-only disk"
    # SQLite creates files next to it.
    if not os.access(folder, os.W_OK):
        return f"this user cannot write to its folder {folder}"
    if path.exists():
        if not os.access(path, os.W_OK):
            return "this user cannot write to the file"
        if sys.platform != "win32" and os.statvfs(path).f_flag & os.ST_RDONLY:
            return "the file is mounted read-only"
    return None


def guard(path: str) -> Callable[[], str | None]:
    """Return a function that describes how the files at this path were replaced or removed since this call; None if
    they were not.

    The log counts too, because it has changes that are not yet in the main file. SQLite keeps it next to the file that
    it opened, after all symbolic links.
    """
    target = os.path.realpath(path)
    paths = {suffix: f"{target}{suffix}" if suffix else path for suffix in _FILES}
    files = [(name, paths[suffix], _inode(paths[suffix])) for suffix, name in _FILES.items()]

    def file_problem() -> str | None:
        for name, file, old in files:
            new = _inode(file)
            if old != new:
                return f"{name} was {'deleted or moved' if new is None else 'replaced'}"
        return None

    return file_problem


def _inode(path: str) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino
