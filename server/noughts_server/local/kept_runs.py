"""Interrupted runs of this machine: databases that are kept in the user's data folder so that they can be resumed."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_data_path

from noughts_server.core.errors import NoughtsError
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.sqlite import locked, url_of
from noughts_server.store.tournaments.tournaments import list_tournaments


def runs_folder() -> Path:
    """Return the folder of the interrupted runs."""
    return user_data_path("noughts") / "runs"


@dataclass(frozen=True, slots=True)
class KeptRun:
    """An interrupted run."""

    file: Path
    changed: datetime
    size: int
    """In bytes, with its log."""
    title: str = ""
    games: int | None = None
    """None, like `games_total`, if this version cannot read the file."""
    games_total: int | None = None

    def remove(self) -> bool:
        """Delete the run; return False if a program uses it."""
        lock = self.file.with_name(f"{self.file.name}.lock")
        try:
            lock_file = locked(lock)
        except BlockingIOError:
            return False
        try:
            for file in _files(self.file):
                file.unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
        finally:
            if lock_file is not None:
                lock_file.close()
        return True


async def kept_runs() -> list[KeptRun]:
    """Return the interrupted runs, oldest first."""
    return [await _read(file) for file in sorted(runs_folder().glob("*.sqlite"))]


async def _read(file: Path) -> KeptRun:
    states = [os.stat(part) for part in _files(file) if part.exists()]
    changed = datetime.fromtimestamp(max(state.st_mtime for state in states), UTC)
    size = sum(state.st_size for state in states)
    try:
        store = await Store.open(url_of(file), create=False, reading=True)
        try:
            newest = (await store.read(lambda connection: list_tournaments(connection, size=1))).items
        finally:
            await store.close()
    except NoughtsError:
        return KeptRun(file, changed, size)
    if not newest:
        return KeptRun(file, changed, size, games=0, games_total=0)
    run = newest[0]
    return KeptRun(
        file=file,
        changed=changed,
        size=size,
        title=run.settings.title,
        games=run.games_done,
        games_total=run.games_total,
    )


def _files(file: Path) -> list[Path]:
    """Return the files of a database in SQLite."""
    return [file, *(file.with_name(f"{file.name}{suffix}") for suffix in ("-wal", "-shm"))]
