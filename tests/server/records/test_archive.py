"""The archive of a database: a Parquet file with all games of each month; a repeated export writes only changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from noughts_server.core.errors import InvalidArgument
from noughts_server.records.data_set import DataSet
from noughts_server.records.months import export_months
from noughts_server.store.engine.sqlite import locked
from tests.support.arena import Arena
from tests.support.databases import POSTGRESQL, SQLITE, Place, databases_of
from tests.support.guard import processes_allowed

DAY_MS = 86_400_000
# The last millisecond of October 2026, the first of November, and 40 days later.
ENDS = {"2026-10": 1_793_491_199_999, "2026-11": 1_793_491_200_000, "2026-12": 1_793_491_200_000 + 40 * DAY_MS}


@pytest.fixture(params=[SQLITE, POSTGRESQL], autouse=True)
def database_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    with processes_allowed(True), databases_of(request.param):
        assert Place.kind == request.param
        yield request.param


async def export(arena: Arena, folder: Path) -> dict[str, tuple[int, bool]]:
    """Export the database, and return for each month the number of its games and whether its file was written."""
    progress: list[tuple[int, int]] = []
    files = await export_months(arena.store, folder, DataSet(), lambda done, total: progress.append((done, total)))
    assert all(done <= total for done, total in progress)
    return {name.removesuffix(".parquet"): games for name, games in files.items()}


async def store_games(arena: Arena) -> None:
    """Store two tournaments with 2,500 and 600 games, and set the ends of the games to days in three months."""
    for name, games in (("cup", 2_500), ("match", 600)):
        tournament = await arena.tournament(name, games_per_pair=games, title="Cup")
        await arena.commit(await arena.play(tournament))
    for rest, end in enumerate(ENDS.values()):
        arena.execute(f"UPDATE games SET ended_at = {end} WHERE ordinal % 3 = {rest}")


async def test_each_month_has_its_games_once(arena: Arena, tmp_path: Path) -> None:
    await store_games(arena)
    folder = tmp_path / "archive"
    files = await export(arena, folder)
    assert files == {"2026-10": (1033, True), "2026-11": (1034, True), "2026-12": (1033, True)}
    months = {name: pl.read_parquet(folder / f"{name}.parquet") for name in files}
    assert months["2026-10"]["end_time"].unique().to_list() == ["2026-10-31T23:59:59.999000+00:00"]
    # All times have six digits of a second, because pandas converts only columns whose values have one form.
    assert months["2026-11"]["end_time"].unique().to_list() == ["2026-11-01T00:00:00.000000+00:00"]
    assert months["2026-10"]["date"].unique().to_list() == ["2026-10-31"]
    assert months["2026-11"]["date"].unique().to_list() == ["2026-11-01"]
    names = pl.concat(list(months.values()))["game"]
    assert sorted(names) == sorted(
        f"tournaments/{name}/games/{number}"
        for name, games in (("cup", 2_500), ("match", 600))
        for number in range(1, games + 1)
    )
    card = (folder / "README.md").read_text()
    assert "games | 3,100 |" in card
    assert "| tictactoe 3,100 |" in card
    assert '"data_files": "*.parquet"' in card


async def test_only_months_that_changed_are_written_again(arena: Arena, tmp_path: Path) -> None:
    await store_games(arena)
    folder = tmp_path / "archive"
    await export(arena, folder)
    unfinished = folder / ".2026-11.parquet.12345678.tmp"
    unfinished.write_bytes(b"PAR1")
    assert [is_new for _, is_new in (await export(arena, folder)).values()] == [False] * 3
    assert not unfinished.exists()
    arena.execute(f"UPDATE games SET ended_at = {ENDS['2026-11']} WHERE ordinal % 3 = 2")
    assert await export(arena, folder) == {"2026-10": (1033, False), "2026-11": (2067, True)}
    (folder / "2026-10.parquet").write_bytes(b"damaged")
    assert await export(arena, folder) == {"2026-10": (1033, True), "2026-11": (2067, False)}


async def test_a_fault_that_is_stored_later_changes_the_month(arena: Arena, tmp_path: Path) -> None:
    await store_games(arena)
    await export(arena, tmp_path / "archive")
    arena.execute("UPDATE games SET fault = 'crashed' WHERE ordinal = 4")
    files = await export(arena, tmp_path / "archive")
    assert {name: is_new for name, (_, is_new) in files.items()} == {
        "2026-10": False,
        "2026-11": True,
        "2026-12": False,
    }


async def test_a_new_title_changes_the_month(arena: Arena, tmp_path: Path) -> None:
    await store_games(arena)
    await export(arena, tmp_path / "archive")
    arena.execute("UPDATE tournaments SET title = 'Winter cup'")
    assert {is_new for _, is_new in (await export(arena, tmp_path / "archive")).values()} == {True}


async def test_an_archive_of_another_database_is_left_as_it_is(arena: Arena, tmp_path: Path) -> None:
    await store_games(arena)
    folder = tmp_path / "archive"
    await export(arena, folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    arena.execute("UPDATE tournaments SET slug = 'other' WHERE slug = 'cup'")
    with pytest.raises(InvalidArgument, match="another database"):
        await export(arena, folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


async def test_only_one_export_runs_in_a_folder(arena: Arena, tmp_path: Path) -> None:
    await store_games(arena)
    folder = tmp_path / "archive"
    folder.mkdir()
    running = locked(folder / ".noughts")
    assert running is not None
    with running, pytest.raises(InvalidArgument, match="another export to this folder is running"):
        await export(arena, folder)
    assert len(await export(arena, folder)) == 3
