"""PostgreSQL: addresses, failures, the schema, and copies of databases to and from SQLite."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata  # noqa: TID251  # compares what only the store may import
from alembic.migration import MigrationContext  # noqa: TID251
from sqlalchemy import create_engine, make_url, text  # noqa: TID251
from sqlalchemy.exc import DBAPIError  # noqa: TID251

from noughts_server.core.errors import (
    BadDatabaseUrl,
    DatabaseBusy,
    DatabaseFull,
    DatabaseUnreachable,
    DatabaseUnusable,
    InvalidArgument,
)
from noughts_server.store.engine.copying import copy_database
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.migrate import upgrade
from noughts_server.store.engine.postgresql import IDLE_SECONDS
from noughts_server.store.engine.schema import metadata
from noughts_server.store.nodes import Beat, Node, NodeKind, alive, beat, lock_dead, renew
from noughts_server.store.people.bot_lists import list_bots
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner, list_tokens
from noughts_server.store.tournaments.claims import claim_next
from noughts_server.store.tournaments.tournaments import get_tournament
from tests.support.arena import Arena, open_arena
from tests.support.databases import (
    POSTGRESQL,
    SCHEMA_1_0,
    SQLITE,
    change,
    databases_of,
    make_database,
    stopped_postgresql,
    url_of,
)
from tests.support.guard import processes_allowed
from tests.support.patience import PATIENCE

ANNA, BERT = Node("referee-anna", NodeKind.REFEREE, 1), Node("referee-bert", NodeKind.REFEREE, 1)


@pytest.fixture(autouse=True)
def database_kind() -> Iterator[str]:
    """Only PostgreSQL."""
    with processes_allowed(True), databases_of(POSTGRESQL):
        yield POSTGRESQL


@pytest.mark.parametrize("url", ["postgresql://host", "postgresql+asyncpg://host/noughts", "postgres+x://host/noughts"])
async def test_an_invalid_address_is_an_error_that_shows_the_form_of_one(url: str) -> None:
    with pytest.raises(BadDatabaseUrl, match="postgresql\\+psycopg://USER@HOST/DATABASE"):
        await Store.open(url)


async def test_an_unreachable_server_is_named_without_the_password() -> None:
    with pytest.raises(DatabaseUnusable, match="cannot be reached") as caught:
        await Store.open("postgresql://me:hunter2@127.0.0.1:1/noughts")
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1:1/noughts" in str(caught.value)


async def test_a_missing_database_is_an_error_that_says_how_to_create_it(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable, match="does not exist") as refused:
        await Store.open(url_of(tmp_path / "none"))
    assert (refused.value.hint or "").startswith("Create it: createdb -O postgres ")


async def test_user_who_does_not_own_the_database_learns_how_to_own_it(tmp_path: Path) -> None:
    make_database(tmp_path / "theirs", empty=True)
    change(tmp_path / "theirs", "CREATE ROLE guest LOGIN")
    url = url_of(tmp_path / "theirs").replace("postgres@", "guest@")
    name = make_url(url).database
    with pytest.raises(DatabaseUnusable) as refused:
        await Store.open(url)
    assert refused.value.got == ("this user cannot create or change its tables (permission denied for schema public)")
    assert refused.value.hint == (
        f"Let guest own the database. For a new one: createdb -O guest {name}."
        f" For this one: psql -c 'ALTER DATABASE {name} OWNER TO guest' {name}"
    )
    change(tmp_path / "theirs", f'ALTER DATABASE "{name}" OWNER TO guest')
    store = await Store.open(url)
    await store.close()


async def test_user_who_can_only_connect_learns_how_to_use_the_database(tmp_path: Path) -> None:
    make_database(tmp_path / "league")
    change(tmp_path / "league", "CREATE ROLE visitor LOGIN")
    url = url_of(tmp_path / "league").replace("postgres@", "visitor@")
    with pytest.raises(DatabaseUnusable, match="permission denied for table") as refused:
        await Store.open(url, create=False, reading=True)
    assert "OWNER TO visitor" in (refused.value.hint or "")
    with pytest.raises(DatabaseUnusable, match="permission denied for table"):
        await Store.open(url)


async def test_the_first_open_creates_the_tables_in_an_empty_database(tmp_path: Path) -> None:
    make_database(tmp_path / "new", empty=True)
    for reading in (False, True):
        with pytest.raises(DatabaseUnusable, match="it exists, but has no tables of Noughts") as refused:
            await Store.open(url_of(tmp_path / "new"), create=False, reading=reading)
        assert "create the tables" in (refused.value.hint or "")
    for created in (True, False):
        store = await Store.open(url_of(tmp_path / "new"))
        assert store.created is created
        await store.close()


async def test_postgresql_reports_the_size_of_the_database(tmp_path: Path) -> None:
    make_database(tmp_path / "league")
    store = await Store.open(url_of(tmp_path / "league"))
    assert await store.size_bytes() > 1_000_000
    assert store.last_size_bytes > 1_000_000
    await store.close()


def test_the_migrations_make_the_tables_of_the_code(tmp_path: Path) -> None:
    make_database(tmp_path / "migrated", empty=True)
    engine = create_engine(url_of(tmp_path / "migrated"))
    with engine.begin() as connection:
        connection.exec_driver_sql((SCHEMA_1_0 / "postgresql.sql").read_text())
        upgrade(connection, "migrated")
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        migrated = connection.execute(text(indexes)).all()
    engine.dispose()
    make_database(tmp_path / "made")
    engine = create_engine(url_of(tmp_path / "made"))
    with engine.begin() as connection:
        assert connection.execute(text(indexes)).all() == migrated
    engine.dispose()


async def test_readers_cannot_write(arena: Arena) -> None:
    with pytest.raises(Exception, match="read-only transaction"):
        await arena.store.read(partial(create_owner, name="slipped-past"))


async def test_writers_of_several_processes_wait_for_each_other(arena: Arena) -> None:
    other = await Store.open(url_of(arena.path), busy_seconds=0.2)

    def write_while_other_waits(connection: Any) -> None:
        create_owner(connection, "ada")
        # The transaction of the first store has locked the database. `Store.write` of the second one would retry for
        # seconds, so the test begins the transaction itself.
        with pytest.raises(DBAPIError) as driver_error, other._writing.begin():
            raise AssertionError("two stores wrote at the same time")
        error = other._dialect.translate(driver_error.value)
        assert isinstance(error, DatabaseBusy)
        assert error.problem == "another session has locked it"
        assert "pg_terminate_backend" in error.remedy

    await arena.store.write(write_while_other_waits)
    await other.write(partial(create_owner, name="bob"))
    await other.close()


async def test_transaction_that_computes_for_long_succeeds_when_it_is_retried(arena: Arena) -> None:
    """PostgreSQL ends the first attempt, and gives the second one, which takes equally long, twice the idle time."""
    attempts = []

    def compute_for_long(connection: Connection) -> None:
        attempts.append(connection)
        create_owner(connection, "alice")
        time.sleep(IDLE_SECONDS + 0.5)
        create_owner(connection, "bert")

    async with asyncio.timeout(PATIENCE):
        await arena.store.write_with_retries(compute_for_long)
    assert len(attempts) == 2
    assert arena.rows("SELECT count(*) FROM owners") == [(2,)]


async def test_heartbeat_does_not_wait_for_other_writers(arena: Arena) -> None:
    await arena.store.write(partial(beat, node=ANNA, first=True))
    other = await Store.open(url_of(arena.path))
    try:
        with arena.store._writing.begin() as connection:
            create_owner(connection, "ada")
            async with asyncio.timeout(PATIENCE):
                answer = await other.write_beside(partial(renew, node=ANNA))
        assert answer is not None
        assert not answer.was_dead
    finally:
        await other.close()


async def test_claim_leaves_units_to_a_node_whose_heartbeat_is_on_its_way(arena: Arena) -> None:
    await arena.store.write(partial(beat, node=ANNA, first=True))
    await arena.store.write(partial(beat, node=BERT, first=True))
    tournament = await arena.tournament(games_per_pair=2_000)
    claim = partial(claim_next, tournament_id=tournament.id, holding=(), played=())
    (of_anna,) = await arena.store.write(partial(claim, holder=ANNA.name))
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - silence_ms + 1500 WHERE name = '{ANNA.name}'")
    engine = arena.store._row_writing
    assert engine is not None
    with engine.begin() as connection:
        assert renew(connection, ANNA) is not None
        await asyncio.sleep(1.6)  # Anna's limit passes by the rows that others see.
        assert [node.name for node in await arena.store.read(alive)] == [BERT.name]
        (of_bert,) = await arena.store.write(partial(claim, holder=BERT.name))
        assert of_bert.number != of_anna.number
    assert [node.name for node in await arena.store.read(alive)] == [ANNA.name, BERT.name]


async def test_heartbeat_after_a_claim_learns_that_its_node_was_dead(arena: Arena) -> None:
    await arena.store.write(partial(beat, node=ANNA, first=True))
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - silence_ms - 100 WHERE name = '{ANNA.name}'")

    def take_over(connection: Connection) -> "asyncio.Future[Beat | None]":
        assert lock_dead(connection, {ANNA.name, "unknown"}) == {ANNA.name, "unknown"}
        heartbeat = asyncio.run_coroutine_threadsafe(arena.store.write_beside(partial(renew, node=ANNA)), loop)
        # The heartbeat waits for this transaction.
        deadline = time.monotonic() + PATIENCE
        while not connection.exec_driver_sql("SELECT 1 FROM pg_locks WHERE NOT granted").first():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return asyncio.wrap_future(heartbeat, loop=loop)

    loop = asyncio.get_running_loop()
    assert await (await arena.store.write(take_over)) is None


@pytest.mark.at_length
async def test_slow_heartbeat_is_retried_with_more_time(arena: Arena) -> None:
    await arena.store.write(partial(beat, node=ANNA, first=True))
    attempts = []

    def slow(connection: Connection) -> Beat | None:
        attempts.append(connection)
        answer = renew(connection, ANNA)
        time.sleep(3.5)
        alive(connection)
        return answer

    async with asyncio.timeout(PATIENCE):
        await arena.store.write_beside(slow)
    assert len(attempts) == 2
    assert arena.store.outage is None


async def test_only_one_server_can_use_a_database(arena: Arena) -> None:
    first = await Store.open(url_of(arena.path), alone=True)
    with pytest.raises(DatabaseUnusable, match="another server uses it"):
        await Store.open(url_of(arena.path), alone=True)
    await first.close()
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                again = await Store.open(url_of(arena.path), alone=True)
                break
            except DatabaseUnusable:
                await asyncio.sleep(0.05)  # PostgreSQL notices a moment later that the connection has ended
    await again.close()


END_SESSIONS = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid != pg_backend_pid()"
)


async def test_server_that_lost_its_connections_locks_the_database_again(arena: Arena) -> None:
    first = await Store.open(url_of(arena.path), alone=True)
    arena.execute(END_SESSIONS)
    await first.write_with_retries(partial(create_owner, name="ada"))
    with pytest.raises(DatabaseUnusable, match="another server uses it"):
        await Store.open(url_of(arena.path), alone=True)
    await first.close()


async def test_server_cannot_write_after_another_one_has_locked_the_database(arena: Arena) -> None:
    first = await Store.open(url_of(arena.path), alone=True)
    arena.execute(END_SESSIONS)
    second = await Store.open(url_of(arena.path), alone=True)
    for _ in range(2):
        with pytest.raises(DatabaseBusy, match="another server uses it") as refused:
            await first.write(partial(create_owner, name="ada"))
        assert refused.value.remedy == "Stop one of the two servers."
    await second.write(partial(create_owner, name="bob"))
    await second.close()
    await first.write_with_retries(partial(create_owner, name="ada"))
    await first.close()
    assert arena.rows("SELECT name FROM owners ORDER BY id") == [("bob",), ("ada",)]


async def test_full_disk_while_games_are_stored_is_an_outage(arena: Arena) -> None:
    games = await arena.play(await arena.tournament())
    arena.execute(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$"
    )
    arena.execute("CREATE TRIGGER full_disk BEFORE INSERT ON games FOR EACH ROW EXECUTE FUNCTION fail()")
    with pytest.raises(DatabaseFull):
        await arena.commit(games)
    arena.execute("DROP TRIGGER full_disk ON games")
    assert len((await arena.commit(games)).games) == len(games)


async def test_text_with_a_null_character_is_an_invalid_argument(arena: Arena) -> None:
    with pytest.raises(InvalidArgument, match=r"contains the character U\+0000"):
        await arena.store.read(partial(get_tournament, slug="\0"))
    with pytest.raises(InvalidArgument, match=r"contains the character U\+0000"):
        await arena.store.read(partial(list_bots, owner="\0"))


@pytest.mark.at_length
async def test_write_during_an_outage_is_done_after_the_restart(arena: Arena) -> None:
    changes = []
    arena.store.on_outage_change = lambda: changes.append(arena.store.outage)
    with stopped_postgresql() as start:
        with pytest.raises(DatabaseUnreachable):
            await arena.store.write(partial(create_owner, name="ada"))
        start()
    await arena.store.write_with_retries(partial(create_owner, name="ada"))
    assert [type(change) for change in changes] == [DatabaseUnreachable, type(None)]
    assert arena.rows("SELECT name FROM owners") == [("ada",)]


@pytest.mark.parametrize("kinds", [(SQLITE, POSTGRESQL), (POSTGRESQL, SQLITE)])
async def test_copied_database_equals_the_original_and_can_be_used(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with databases_of(kinds[0]):
        async with open_arena(tmp_path / "from.db") as old:
            finished = await old.tournament(bots=("ada", "bob", "cleo"), games_per_pair=40)
            await old.commit(await old.play(finished))
            unfinished = await old.tournament("half", bots=("ada", "cleo"), games_per_pair=40)
            games = await old.play(unfinished)
            await old.commit(games[: len(games) // 2])
            before = old.snapshot()
            with databases_of(kinds[1]):
                async with open_arena(tmp_path / "to.db") as new:
                    rows = await copy_database(old.store, new.store)
                    assert rows["games"] == len(before["games"])
                    assert new.snapshot() == before
                    # A new row gets the next id after the copied ones.
                    await new.store.write(partial(log_in, owner_id=1, name="dora", now_ms=0))
                    names = [each.bot.name for each in (await new.store.read(list_bots)).items]
                    assert names == ["ada", "bob", "cleo", "dora"]
                    assert await new.store.read(list_tokens) == []
                    with pytest.raises(DatabaseUnusable, match="already contains"):
                        await copy_database(old.store, new.store)
