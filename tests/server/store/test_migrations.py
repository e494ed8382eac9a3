"""The migrations of SQLite make the tables that the code declares, and keep stored data."""

import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from alembic import command  # noqa: TID251  # compares what only the store may import
from alembic.autogenerate import compare_metadata  # noqa: TID251
from alembic.config import Config  # noqa: TID251
from alembic.migration import MigrationContext  # noqa: TID251
from alembic.script import ScriptDirectory  # noqa: TID251
from sqlalchemy import create_engine  # noqa: TID251

from noughts_referee.rules import OldSeed, Result
from noughts_referee.work_units import pack_times
from noughts_server.core.errors import DatabaseUnusable
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.migrate import MIGRATIONS
from noughts_server.store.engine.schema import LONGEST_SILENCE_MS, REVISION, metadata
from noughts_server.store.people.confusable_names import skeleton
from noughts_server.store.tournaments.tournaments import get_tournament
from tests.support.arena import Arena
from tests.support.databases import SCHEMA_1_0


@pytest.fixture(autouse=True)
def database_kind() -> None:
    """Only SQLite."""


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, metadata))


def create_version_1_0(path: Path) -> None:
    """Create an empty database as version 1.0.0 did."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SCHEMA_1_0 / "sqlite.sql").read_text())


def migrate_to(path: Path, revision: str) -> None:
    """Migrate a database to an earlier version than the newest."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with create_engine(f"sqlite:///{path}").begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


async def create_and_migrate(path: Path) -> None:
    """Create a database as version 1.0.0 did, and migrate it by opening it with this version."""
    create_version_1_0(path)
    await (await Store.open(f"sqlite:///{path}")).close()


def schema_and_rows(path: Path) -> dict[str, object]:
    """Return what SQLite reports about each table (except the text of its CREATE statement), and its rows."""
    with closing(sqlite3.connect(path)) as connection:

        def pragma_rows(pragma: str, name: object) -> list[tuple[object, ...]]:
            return connection.execute(f"SELECT * FROM pragma_{pragma}('{name}')").fetchall()

        def indexes(table: str) -> list[tuple[object, ...]]:
            # Indexes of constraints are compared without their names: SQLite numbers them in order of the statement.
            return sorted(
                (unique, origin, partial, "" if origin != "c" else name, tuple(pragma_rows("index_xinfo", name)))
                for _, name, unique, origin, partial in pragma_rows("index_list", table)
            )

        tables = connection.execute("SELECT * FROM pragma_table_list WHERE name NOT LIKE 'sqlite%'").fetchall()
        return {
            name: (
                *rest,
                pragma_rows("table_xinfo", name),
                sorted(row[2:] for row in pragma_rows("foreign_key_list", name)),
                indexes(name),
                connection.execute(f"SELECT * FROM {name}").fetchall(),
            )
            for _, name, *rest in tables
        }


def condition_of_index(path: Path, index: str) -> str:
    """Return the condition of a partial index."""
    with closing(sqlite3.connect(path)) as connection:
        (statement,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()
    return str(statement).partition("WHERE")[2].strip()


@pytest.mark.parametrize(
    "index, part", [("ix_games_faults", "fault IS NOT NULL"), ("ix_games_stopped", "its owner, the organiser")]
)
async def test_migrated_index_of_games_has_the_condition_of_the_code(tmp_path: Path, index: str, part: str) -> None:
    await create_and_migrate(tmp_path / "migrated.db")
    await (await Store.open(f"sqlite:///{tmp_path / 'new.db'}")).close()
    condition = condition_of_index(tmp_path / "new.db", index)
    assert part in condition
    assert condition_of_index(tmp_path / "migrated.db", index) == condition


async def test_migrated_schema_is_that_of_the_code(tmp_path: Path) -> None:
    create_version_1_0(tmp_path / "migrated.db")
    store = await Store.open(f"sqlite:///{tmp_path / 'migrated.db'}")
    try:
        assert await store.read(differences) == []
    finally:
        await store.close()


async def test_a_new_database_equals_a_migrated_one(tmp_path: Path) -> None:
    await create_and_migrate(tmp_path / "migrated.db")
    store = await Store.open(f"sqlite:///{tmp_path / 'new.db'}")
    await store.close()
    assert schema_and_rows(tmp_path / "new.db") == schema_and_rows(tmp_path / "migrated.db")


async def test_games_have_no_rowid(arena: Arena) -> None:
    [(statement,)] = arena.rows("SELECT sql FROM sqlite_schema WHERE name = 'games'")
    assert "WITHOUT ROWID" in statement


def test_newest_migration_is_the_revision_of_the_code() -> None:
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
    create_version_1_0(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0013'")
        connection.commit()
    for reading in (False, True):
        with pytest.raises(DatabaseUnusable, match="schema 0013, which no release") as refused:
            await Store.open(f"sqlite:///{path}", reading=reading)
        assert refused.value.hint == "If it is older, open it once with Noughts 1.0.0, which migrates it."


async def test_tournament_that_version_1_0_migrated_keeps_its_seeds(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    create_version_1_0(path)
    with closing(sqlite3.connect(path)) as connection:
        insert_row(connection, "owners", id=0, name="ada")
        insert_row(
            connection, "tournaments", id=1, slug="old", variant="tictactoe", seed=1, seed_kind=0, schedule=1, state=1
        )
        insert_row(
            connection, "tournaments", id=2, slug="new", variant="tictactoe", seed=1, seed_kind=1, schedule=1, state=1
        )
        connection.commit()
    store = await Store.open(f"sqlite:///{path}")
    seeds = [(await store.read(partial(get_tournament, slug=slug))).settings.seed for slug in ("old", "new")]
    await store.close()
    assert [type(seed) for seed in seeds] == [OldSeed, int]


async def test_reading_does_not_migrate_and_opening_reports_the_old_schema(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    create_version_1_0(path)
    before = schema_and_rows(path)
    with pytest.raises(DatabaseUnusable, match="has schema 0014"):
        await Store.open(f"sqlite:///{path}", reading=True)
    assert schema_and_rows(path) == before
    store = await Store.open(f"sqlite:///{path}")
    await store.close()
    assert store.migrated_from == "0014"
    again = await Store.open(f"sqlite:///{path}", reading=True)
    await again.close()
    assert again.migrated_from is None


async def test_database_is_not_migrated_while_nodes_of_an_older_version_run(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    create_version_1_0(path)
    now = time.time_ns() // 1_000_000
    with closing(sqlite3.connect(path)) as connection:
        insert_row(connection, "nodes", name="referee-a-1-1", kind=2, started_at=now, seen_at=now, seats=1)
        connection.commit()
    with pytest.raises(DatabaseUnusable, match=r"servers or referees of that older version still use it \(1\)"):
        await Store.open(f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0014",)]
        connection.execute("UPDATE nodes SET seen_at = seen_at - ?", (LONGEST_SILENCE_MS + 1,))
        connection.commit()
    store = await Store.open(f"sqlite:///{path}")
    await store.close()
    assert store.migrated_from == "0014"


async def test_migration_counts_agreed_stones_from_stored_times(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    create_version_1_0(path)
    # Moves and times of games in which the players agreed on 0, 3, 3 and 5 stones. Times of choices are zero for
    # stones that were put together with the one before.
    games = [(b"", [9]), (bytes(3), [9, 0, 0, 5]), (bytes(4), [9, 7, 0, 5]), (bytes(5), [9, 7, 1, 0, 0])]
    with closing(sqlite3.connect(path)) as connection:
        for key, variant in enumerate(("gomoku+swap2", "gomoku+pro"), 1):
            insert_row(connection, "tournaments", id=key, slug=variant, variant=variant)
            for ordinal, (moves, times) in enumerate(games):
                row = {"tournament_id": key, "ordinal": ordinal, "moves": moves, "times": pack_times(times)}
                insert_row(connection, "games", **row)
                insert_row(connection, "journal", **row)
        connection.commit()
    await (await Store.open(f"sqlite:///{path}")).close()
    with closing(sqlite3.connect(path)) as connection:
        for table in ("games", "journal"):
            rows = connection.execute(f"SELECT opening_plies FROM {table} ORDER BY tournament_id, ordinal").fetchall()
            assert [plies for (plies,) in rows] == [0, 3, 3, 5, 0, 0, 0, 0]


async def test_migration_counts_the_scores_and_meetings_of_bots(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    create_version_1_0(path)
    with closing(sqlite3.connect(path)) as connection:
        for bot, version in enumerate((7, 8, 9), 1):
            insert_row(connection, "bots", id=bot, name=f"bot{bot}")
            insert_row(connection, "bot_versions", id=version, bot_id=bot)
        for key, versions in enumerate(((7, 8), (8, 7), (9, 7)), 1):
            insert_row(connection, "tournaments", id=key, slug=f"cup{key}", variant="tictactoe")
            for number, version in enumerate(versions):
                insert_row(
                    connection, "entries", tournament_id=key, number=number, bot_version_id=version, label=number
                )
        for key, wins, draws in ((1, 2, 3), (2, 4, 0)):
            row = {"tournament_id": key, "first_entry": 0, "second_entry": 1, "wins": wins, "draws": draws}
            insert_row(connection, "pair_scores", **row)
        insert_row(connection, "games", tournament_id=3, ordinal=1, second_entry=1, result=Result.VOID, moves=b"")
        connection.commit()
    await (await Store.open(f"sqlite:///{path}")).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT bot_id FROM entries ORDER BY tournament_id, number").fetchall() == [
            (1,), (2,), (2,), (1,), (3,), (1,)
        ]  # fmt: skip
        scores = connection.execute("SELECT * FROM bot_scores ORDER BY 1, 2").fetchall()
        assert scores == [(1, 2, "tictactoe", 2, 3, 0), (2, 1, "tictactoe", 4, 0, 0)]
        assert connection.execute("SELECT * FROM meetings").fetchall() == [(1, 2, 1), (1, 2, 2), (1, 3, 3)]


async def test_migration_compares_names_as_the_code_does(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    create_version_1_0(path)
    migrate_to(path, "0043")
    with closing(sqlite3.connect(path)) as connection:
        insert_row(connection, "owners", id=1, name="bot-1.0", skeleton="botl-o")
        insert_row(connection, "bot_names", name="ac1min", skeleton="aclmln", owner_id=1)
        connection.commit()
    await (await Store.open(f"sqlite:///{path}")).close()
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name, skeleton FROM owners UNION SELECT name, skeleton FROM bot_names")
        assert dict(names.fetchall()) == {name: skeleton(name) for name in ("bot-1.0", "ac1min")}


def insert_row(connection: sqlite3.Connection, table: str, **values: object) -> None:
    """Insert a row with these values, and with 0 in all other columns that must not be NULL."""
    for _, name, _, needed, default, _ in connection.execute(f"SELECT * FROM pragma_table_info('{table}')").fetchall():
        if needed and default is None:
            values.setdefault(name, 0)
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))
