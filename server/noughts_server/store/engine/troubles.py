"""What SQLite's errors mean, in our words, and what can be seen of them at the database's place."""

import os
import sqlite3
import sys
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from noughts_server.errors import (
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFailing,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseTrouble,
    DatabaseUnusable,
    NoughtsError,
)

_KINDS: dict[int, type[DatabaseTrouble | DatabaseDamaged]] = {
    sqlite3.SQLITE_BUSY: DatabaseBusy,
    sqlite3.SQLITE_LOCKED: DatabaseBusy,
    # A reader gives up after some seconds if another process holds locks of the -shm file for ever.
    sqlite3.SQLITE_PROTOCOL: DatabaseBusy,
    sqlite3.SQLITE_FULL: DatabaseFull,
    sqlite3.SQLITE_READONLY: DatabaseReadOnly,
    sqlite3.SQLITE_IOERR: DatabaseFailing,
    sqlite3.SQLITE_CANTOPEN: DatabaseFailing,
    sqlite3.SQLITE_PERM: DatabaseFailing,
    sqlite3.SQLITE_CORRUPT: DatabaseDamaged,
    sqlite3.SQLITE_NOTADB: DatabaseDamaged,
}

# The files that SQLite makes beside an empty database have so much.
_LEAST_BYTES = 64 << 10


def named(error: DBAPIError | sqlite3.Error) -> NoughtsError | None:
    """The error by our name for it; None for one of ours, as of a statement that is wrong."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code: int | None = getattr(cause, "sqlite_errorcode", None)
    if code is None:
        return None
    kind = _KINDS.get(code & 0xFF)
    return None if kind is None else kind(str(cause))


def unusable(path: Path, error: NoughtsError) -> DatabaseUnusable:
    """What keeps a database from being opened, with its place, and what to do."""
    if isinstance(error, DatabaseDamaged):
        hint = "Choose another file with --db, or put a backup there."
        return DatabaseUnusable(str(path), f"the file is no database, or damaged ({error.got})", hint=hint)
    assert isinstance(error, DatabaseTrouble)
    if isinstance(error, DatabaseFailing) and _free_bytes(path) < _LEAST_BYTES:
        error = DatabaseFull()
    if isinstance(error, DatabaseFailing | DatabaseReadOnly):
        seen = unwritable(path)
        if seen is not None:
            return DatabaseUnusable(str(path), seen, hint="Make it writable, or choose another place with --db.")
        return DatabaseUnusable(str(path), f"{error.problem} ({error.got})", hint=error.remedy)
    return DatabaseUnusable(str(path), error.problem, hint=error.remedy)


def _free_bytes(path: Path) -> int:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return sys.maxsize
    return disk.f_bavail * disk.f_frsize


def unwritable(path: Path) -> str | None:
    """Why the file cannot be written, as far as can be seen from outside."""
    folder = path.parent
    if path.is_dir():
        return "it is a folder"
    if not folder.is_dir():
        return f"its folder {folder} does not exist"
    if sys.platform != "win32" and os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"its folder {folder} lies on a disk that is read-only"
    # SQLite makes files beside it.
    if not os.access(folder, os.W_OK):
        return f"its folder {folder} may not be written by this user"
    if path.exists():
        if not os.access(path, os.W_OK):
            return "the file may not be written by this user"
        if sys.platform != "win32" and os.statvfs(path).f_flag & os.ST_RDONLY:
            return "the file is mounted read-only"
    return None


_FILES = {"": "its file", "-wal": "its write-ahead log", "-shm": "the index of its log"}

Identity = tuple[tuple[int, int] | None, ...]
"""Which files a database is, the log with what is not in the file yet among them: others of the same name are not."""


def identity(path: str) -> Identity:
    """Which files lie there now."""
    return tuple(_inode(f"{path}{suffix}") for suffix in _FILES)


def missing(before: Identity, now: Identity) -> str | None:
    """What has become of the files of an open database; None: they are there."""
    for name, old, new in zip(_FILES.values(), before, now, strict=True):
        if old != new:
            return f"{name} was {'deleted or moved' if new is None else 'replaced'}"
    return None


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
