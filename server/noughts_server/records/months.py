"""An archive: the games of a database in Parquet files, one for each month (UTC) in which games ended."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import groupby, islice
from pathlib import Path

from noughts_server.core.errors import InvalidArgument
from noughts_server.records.data_set import SCHEMA_VERSION, DataSet
from noughts_server.records.formats import replacing
from noughts_server.records.parquet import has_content, parquet_output
from noughts_server.records.replay import archive_record
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.sqlite import locked
from noughts_server.store.games.exports import ExportedGame, export
from noughts_server.store.games.games import DAY_MS, games_by_day
from noughts_server.store.tournaments.tournaments import first_tournament, get_tournament_by_id

_GAMES_AT_ONCE = 1_000


async def export_months(
    store: Store, folder: Path, made: DataSet, show: Callable[[int, int], None]
) -> dict[str, tuple[int, bool]]:
    """Write a file for each month; return its number of games, and whether it was written or had these games already.

    A file is written as a whole, so an export that was interrupted continues with the month that it was at. Raises
    InvalidArgument if the folder has the archive of another database, or if another export is running there.
    """
    with _held(folder, await store.read(first_tournament)) as held:
        return await _export(store, held, made, show)


async def _export(
    store: Store, folder: Path, made: DataSet, show: Callable[[int, int], None]
) -> dict[str, tuple[int, bool]]:
    days = await store.read(games_by_day)
    keys = {key for _, key, *_ in days}
    tournaments = await store.read(lambda connection: {key: get_tournament_by_id(connection, key) for key in keys})
    files = dict[str, tuple[int, bool]]()
    variants = Counter[str]()
    for month, group in groupby(days, lambda day: f"{datetime.fromtimestamp(0, UTC) + timedelta(day[0]):%Y-%m}"):
        parts = list(group)
        begun = variants.total()
        for _, key, count, *_ in parts:
            variants[tournaments[key].settings.variant] += count
        known = [
            SCHEMA_VERSION,
            [(*part, tournaments[part[1]].name, tournaments[part[1]].settings.title) for part in parts],
        ]
        content = sha256(json.dumps(known).encode()).hexdigest()
        file = folder / f"{month}.parquet"
        if is_new := not has_content(file, content):
            ended = (parts[0][0] * DAY_MS, (parts[-1][0] + 1) * DAY_MS)
            with replacing(file) as out, parquet_output(out.buffer, made.rows, content) as output:
                for key in dict.fromkeys(key for _, key, *_ in parts):
                    async for game in _games(store, key, ended):
                        output.write(archive_record(game, tournaments[key]))
                        show(begun + output.rows, sum(day[2] for day in days))
        files[file.name] = variants.total() - begun, is_new
    made.write_card(folder / folder.name, variants.total(), variants, pattern="*.parquet")
    return files


@contextmanager
def _held(folder: Path, database: str) -> Iterator[Path]:
    """Hold the folder for one export of this database, and delete the unfinished file of a killed one."""
    mark = folder / ".noughts"
    field = f"--parquet {folder}"
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument(field, "a file", "a folder", hint="Choose another name.")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = locked(mark)
    except BlockingIOError:
        message = f"{field}: another export to this folder is running"
        raise InvalidArgument(
            field, "a running export", "none", hint="Wait until it ends, or choose another folder.", message=message
        ) from None
    with lock or nullcontext():
        if mark.exists() and mark.read_text("utf-8") not in ("", database):
            hint = "Choose a folder of its own for each database."
            raise InvalidArgument(field, "the archive of another database", "an empty folder", hint=hint)
        mark.write_text(database, "utf-8")
        for unfinished in folder.glob(".*.parquet.*.tmp"):
            unfinished.unlink()
        yield folder.resolve()


async def _games(store: Store, tournament_id: int, ended: tuple[int, int]) -> AsyncIterator[ExportedGame]:
    """Yield the games of a tournament that ended then, in short transactions."""
    after = 0

    def read(connection: Connection) -> list[ExportedGame]:
        return list(islice(export(connection, tournament_id, after=after, ended=ended), _GAMES_AT_ONCE))

    while batch := await store.read(read):
        for game in batch:
            yield game
        after = batch[-1].ordinal
