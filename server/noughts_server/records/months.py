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
    store: Store, folder: Path, data_set: DataSet, show: Callable[[int, int], None]
) -> dict[str, tuple[int, bool]]:
    """Write a file for each month. Return by file name the number of its games, and whether the file was written now.

    A file that already has exactly these games is not written. A file is replaced as a whole, so an interrupted export
    continues with the month at which it stopped. `show` is called with the number of written games and of all games.
    Raises InvalidArgument if the folder has the archive of another database, or if another export is running there.
    """
    with _locked_folder(folder, await store.read(first_tournament)) as locked_folder:
        return await _export(store, locked_folder, data_set, show)


async def _export(
    store: Store, folder: Path, data_set: DataSet, show: Callable[[int, int], None]
) -> dict[str, tuple[int, bool]]:
    days = await store.read(games_by_day)
    keys = {day.tournament for day in days}
    tournaments = await store.read(lambda connection: {key: get_tournament_by_id(connection, key) for key in keys})
    files = dict[str, tuple[int, bool]]()
    variants = Counter[str]()
    for month, group in groupby(days, lambda day: f"{datetime.fromtimestamp(0, UTC) + timedelta(day.day):%Y-%m}"):
        parts = list(group)
        games_before = variants.total()
        for part in parts:
            variants[tournaments[part.tournament].settings.variant] += part.games
        # Everything that determines the content of the file.
        determinants = [
            SCHEMA_VERSION,
            [(*part, tournaments[part.tournament].name, tournaments[part.tournament].settings.title) for part in parts],
        ]
        content = sha256(json.dumps(determinants).encode()).hexdigest()
        file = folder / f"{month}.parquet"
        if is_new := not has_content(file, content):
            ended = (parts[0].day * DAY_MS, (parts[-1].day + 1) * DAY_MS)
            with replacing(file) as out, parquet_output(out.buffer, data_set.rows, content) as output:
                for key in dict.fromkeys(part.tournament for part in parts):
                    async for game in _games(store, key, ended):
                        output.write(archive_record(game, tournaments[key]))
                        show(games_before + output.rows, sum(day.games for day in days))
        files[file.name] = variants.total() - games_before, is_new
    data_set.write_card(folder / folder.name, variants.total(), variants, pattern="*.parquet")
    return files


@contextmanager
def _locked_folder(folder: Path, database: str) -> Iterator[Path]:
    """Lock the folder for one export of this database, and delete unfinished files of an export that was killed.

    `database` identifies the database; the folder keeps it in a file.
    """
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
    """Yield the games of a tournament that ended in this period (milliseconds), in short transactions."""
    after = 0

    def read(connection: Connection) -> list[ExportedGame]:
        return list(islice(export(connection, tournament_id, after=after, ended=ended), _GAMES_AT_ONCE))

    while batch := await store.read(read):
        for game in batch:
            yield game
        after = batch[-1].ordinal
