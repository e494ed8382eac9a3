"""The schema comes from migrations, and they say the same as the tables in the code."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata  # noqa: TID251  # compares what only the store may import
from alembic.config import Config  # noqa: TID251
from alembic.migration import MigrationContext  # noqa: TID251
from alembic.script import ScriptDirectory  # noqa: TID251

from noughts_referee.rules import OldSeed, Result
from noughts_referee.work_units import pack_times
from noughts_server.core.errors import DatabaseUnusable
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.migrate import MIGRATIONS
from noughts_server.store.engine.schema import REVISION, metadata
from noughts_server.store.tournaments.tournaments import get_tournament
from tests.support.arena import Arena
from tests.support.databases import SCHEMA_1_0


@pytest.fixture(autouse=True)
def database_kind() -> None:
    """SQLite alone."""


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, metadata))


def of_version_1_0(path: Path) -> None:
    """Makes an empty database there as version 1.0.0 did."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SCHEMA_1_0 / "sqlite.sql").read_text())


async def migrated(path: Path) -> None:
    """Makes a database there as version 1.0.0 did, and opens it once with this version."""
    of_version_1_0(path)
    await (await Store.open(f"sqlite:///{path}")).close()


def anatomy(path: Path) -> dict[str, object]:
    """All that SQLite tells of a database but the words in which its tables were made, and its rows."""
    with closing(sqlite3.connect(path)) as connection:

        def told(pragma: str, name: object) -> list[tuple[object, ...]]:
            return connection.execute(f"SELECT * FROM pragma_{pragma}('{name}')").fetchall()

        def indexes(table: str) -> list[tuple[object, ...]]:
            # Of those that SQLite makes for constraints, the numbers in their names follow the order of the words.
            return sorted(
                (unique, origin, partial, "" if origin != "c" else name, tuple(told("index_xinfo", name)))
                for _, name, unique, origin, partial in told("index_list", table)
            )

        tables = connection.execute("SELECT * FROM pragma_table_list WHERE name NOT LIKE 'sqlite%'").fetchall()
        return {
            name: (
                *rest,
                told("table_xinfo", name),
                sorted(row[2:] for row in told("foreign_key_list", name)),
                indexes(name),
                connection.execute(f"SELECT * FROM {name}").fetchall(),
            )
            for _, name, *rest in tables
        }


async def test_migrated_schema_is_that_of_the_code(tmp_path: Path) -> None:
    of_version_1_0(tmp_path / "migrated.db")
    store = await Store.open(f"sqlite:///{tmp_path / 'migrated.db'}")
    try:
        assert await store.read(differences) == []
    finally:
        await store.close()


async def test_a_new_database_is_as_the_migrations_would_have_made_it(tmp_path: Path) -> None:
    await migrated(tmp_path / "migrated.db")
    store = await Store.open(f"sqlite:///{tmp_path / 'new.db'}")
    await store.close()
    assert anatomy(tmp_path / "new.db") == anatomy(tmp_path / "migrated.db")


async def test_games_have_no_rowid(arena: Arena) -> None:
    [(statement,)] = arena.rows("SELECT sql FROM sqlite_schema WHERE name = 'games'")
    assert "WITHOUT ROWID" in statement


def test_newest_migration_is_the_one_that_the_code_knows() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert script.get_heads() == [REVISION]
    assert script.get_bases() == ["0014"]


async def test_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    path.touch()
    store = await Store.open(f"sqlite:///{path}")
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(REVISION,)]


async def test_database_from_before_the_first_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    of_version_1_0(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0013'")
        connection.commit()
    for reading in (False, True):
        with pytest.raises(DatabaseUnusable, match="schema 0013, which no release") as refused:
            await Store.open(f"sqlite:///{path}", reading=reading)
        assert refused.value.hint == "If it is older, open it once with Noughts 1.0.0, which migrates it."


async def test_tournament_that_version_1_0_migrated_keeps_its_seeds(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    of_version_1_0(path)
    with closing(sqlite3.connect(path)) as connection:
        insert(connection, "owners", id=0, name="ada")
        insert(
            connection, "tournaments", id=1, slug="old", variant="tictactoe", seed=1, seed_kind=0, schedule=1, state=1
        )
        insert(
            connection, "tournaments", id=2, slug="new", variant="tictactoe", seed=1, seed_kind=1, schedule=1, state=1
        )
        connection.commit()
    store = await Store.open(f"sqlite:///{path}")
    seeds = [(await store.read(partial(get_tournament, slug=slug))).settings.seed for slug in ("old", "new")]
    await store.close()
    assert [type(seed) for seed in seeds] == [OldSeed, int]


async def test_reading_does_not_migrate_and_opening_tells_from_which_schema(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    of_version_1_0(path)
    before = anatomy(path)
    with pytest.raises(DatabaseUnusable, match="has schema 0014"):
        await Store.open(f"sqlite:///{path}", reading=True)
    assert anatomy(path) == before
    store = await Store.open(f"sqlite:///{path}")
    await store.close()
    assert store.migrated_from == "0014"
    again = await Store.open(f"sqlite:///{path}", reading=True)
    await again.close()
    assert again.migrated_from is None


async def test_migration_counts_agreed_stones_from_stored_times(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    of_version_1_0(path)
    # By the times of the choices, and then of the moves: nothing put, three stones, three and a move, five.
    games = [(b"", [9]), (bytes(3), [9, 0, 0, 5]), (bytes(4), [9, 7, 0, 5]), (bytes(5), [9, 7, 1, 0, 0])]
    with closing(sqlite3.connect(path)) as connection:
        for key, variant in enumerate(("gomoku+swap2", "gomoku+pro"), 1):
            insert(connection, "tournaments", id=key, slug=variant, variant=variant)
            for ordinal, (moves, times) in enumerate(games):
                row = {"tournament_id": key, "ordinal": ordinal, "moves": moves, "times": pack_times(times)}
                insert(connection, "games", **row)
                insert(connection, "journal", **row)
        connection.commit()
    await (await Store.open(f"sqlite:///{path}")).close()
    with closing(sqlite3.connect(path)) as connection:
        for table in ("games", "journal"):
            found = connection.execute(f"SELECT opening_plies FROM {table} ORDER BY tournament_id, ordinal").fetchall()
            assert [plies for (plies,) in found] == [0, 3, 3, 5, 0, 0, 0, 0]


async def test_migration_counts_the_scores_and_meetings_of_bots(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    of_version_1_0(path)
    with closing(sqlite3.connect(path)) as connection:
        for bot, version in enumerate((7, 8, 9), 1):
            insert(connection, "bots", id=bot, name=f"bot{bot}")
            insert(connection, "bot_versions", id=version, bot_id=bot)
        for key, versions in enumerate(((7, 8), (8, 7), (9, 7)), 1):
            insert(connection, "tournaments", id=key, slug=f"cup{key}", variant="tictactoe")
            for number, version in enumerate(versions):
                insert(connection, "entries", tournament_id=key, number=number, bot_version_id=version, label=number)
        for key, wins, draws in ((1, 2, 3), (2, 4, 0)):
            row = {"tournament_id": key, "first_entry": 0, "second_entry": 1, "wins": wins, "draws": draws}
            insert(connection, "pair_scores", **row)
        insert(connection, "games", tournament_id=3, ordinal=1, second_entry=1, result=Result.VOID, moves=b"")
        connection.commit()
    await (await Store.open(f"sqlite:///{path}")).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT bot_id FROM entries ORDER BY tournament_id, number").fetchall() == [
            (1,), (2,), (2,), (1,), (3,), (1,)
        ]  # fmt: skip
        scores = connection.execute("SELECT * FROM bot_scores ORDER BY 1, 2").fetchall()
        assert scores == [(1, 2, "tictactoe", 2, 3, 0), (2, 1, "tictactoe", 4, 0, 0)]
        assert connection.execute("SELECT * FROM meetings").fetchall() == [(1, 2, 1), (1, 2, 2), (1, 3, 3)]


def insert(connection: sqlite3.Connection, table: str, **values: object) -> None:
    """A row with these values, and 0 for all others that must not be NULL."""
    for _, name, _, needed, default, _ in connection.execute(f"SELECT * FROM pragma_table_info('{table}')").fetchall():
        if needed and default is None:
            values.setdefault(name, 0)
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))
