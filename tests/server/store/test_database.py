"""The database file of a store, and the store's threads and transactions."""

import asyncio
import os
import sqlite3
import stat
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError  # noqa: TID251  # what the store does not name is raised as it is

from noughts_server.core.errors import (
    BadDatabaseUrl,
    DatabaseBusy,
    DatabaseGone,
    DatabaseTooNew,
    DatabaseUnusable,
    Draining,
)
from noughts_server.store.engine.database import Connection, Store, default_database_url
from noughts_server.store.people.tokens import create_owner, create_token, list_tokens
from tests.support.arena import NOW, Arena


@pytest.fixture(autouse=True)
def database_kind() -> None:
    """Only SQLite."""


async def open_once(path: Path) -> None:
    """Open the database, which creates or migrates it, and close it."""
    store = await Store.open(f"sqlite:///{path}", busy_seconds=0.1)
    await store.close()


def store_token(connection: Connection, label: str) -> None:
    create_token(connection, owner="alice", label=label, now_ms=NOW)


def labels(connection: Connection) -> list[str]:
    return [token.label for token in list_tokens(connection)]


async def test_new_database_makes_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folders 100%" / "noughts.db"
    await open_once(path)
    await open_once(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA page_size").fetchone() == (8192,)


async def test_new_files_and_folder_are_readable_only_by_their_user(tmp_path: Path) -> None:
    path = tmp_path / "new" / "noughts.db"
    store = await Store.open(f"sqlite:///{path}", alone=True)
    await store.write(partial(store_token, label="x"))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in os.scandir(path.parent)}
    await store.close()
    assert modes == dict.fromkeys(("noughts.db", "noughts.db-wal", "noughts.db-shm", "noughts.db.lock"), 0o600)
    assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700
    assert not store.closed_to_others


async def test_files_that_others_could_read_are_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    await open_once(path)
    path.chmod(0o644)
    lock = tmp_path / "noughts.db.lock"
    lock.touch(0o644)
    store = await Store.open(f"sqlite:///{path}", alone=True)
    assert store.closed_to_others
    assert {stat.S_IMODE(file.stat().st_mode) for file in os.scandir(tmp_path)} == {0o600}
    await store.close()


async def test_lock_that_cannot_be_made_is_not_taken_for_another_server(tmp_path: Path) -> None:
    (tmp_path / "noughts.db.lock").mkdir()
    with pytest.raises(DatabaseUnusable, match=r"noughts\.db\.lock cannot be created"):
        await Store.open(f"sqlite:///{tmp_path / 'noughts.db'}", alone=True)


async def test_the_schema_of_a_running_server_is_not_migrated(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    running = await Store.open(f"sqlite:///{path}", alone=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0014'")
    with pytest.raises(DatabaseUnusable, match="another server uses it"):
        await Store.open(f"sqlite:///{path}", alone=True)
    await running.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0014",)


async def test_a_second_server_is_named_even_during_a_long_write(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    running = await Store.open(f"sqlite:///{path}", alone=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as writing:
        writing.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseUnusable, match="another server uses it"):
            await Store.open(f"sqlite:///{path}", alone=True, busy_seconds=0.1)
    await running.close()


@pytest.mark.parametrize("link", ["file", "folder"])
async def test_second_server_through_a_symbolic_link_is_refused(tmp_path: Path, link: str) -> None:
    path = tmp_path / "real" / "noughts.db"
    running = await Store.open(f"sqlite:///{path}", alone=True)
    (tmp_path / "link").symlink_to(path if link == "file" else path.parent)
    other = tmp_path / "link" if link == "file" else tmp_path / "link" / "noughts.db"
    with pytest.raises(DatabaseUnusable, match="another server uses it"):
        await Store.open(f"sqlite:///{other}", alone=True)
    await running.close()
    linked = await Store.open(f"sqlite:///{other}", alone=True)
    with pytest.raises(DatabaseUnusable, match="another server uses it"):
        await Store.open(f"sqlite:///{path}", alone=True)
    await linked.close()


async def test_database_behind_a_link_has_its_log_guarded_and_closed(tmp_path: Path) -> None:
    path, link = tmp_path / "real" / "noughts.db", tmp_path / "link.db"
    await open_once(path)
    link.symlink_to(path)
    path.chmod(0o644)
    store = await Store.open(f"sqlite:///{link}", alone=True)
    await store.write(partial(store_token, label="x"))
    write_ahead_log = path.with_name("noughts.db-wal")
    assert {stat.S_IMODE(file.stat().st_mode) for file in os.scandir(path.parent)} == {0o600}
    assert await store.size_bytes() == path.stat().st_size + write_ahead_log.stat().st_size > path.stat().st_size
    write_ahead_log.unlink()
    with pytest.raises(DatabaseGone, match="write-ahead log was deleted"):
        store.check_place()
    await store.close()


async def test_file_with_two_hard_links_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "noughts.db", tmp_path / "other.db"
    running = await Store.open(f"sqlite:///{path}", alone=True)
    other.hardlink_to(path)
    for alone in (True, False):
        with pytest.raises(DatabaseUnusable, match="2 names") as refused:
            await Store.open(f"sqlite:///{other}", alone=alone)
        assert "copy the file" in refused.value.hint
    await running.close()
    other.unlink()
    await open_once(path)


async def test_a_file_that_is_not_a_database_gets_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    path.write_text("Notes of a person, which are not a database. " * 99)
    with pytest.raises(DatabaseUnusable, match="not a database"):
        await Store.open(f"sqlite:///{path}", alone=True)
    assert os.listdir(tmp_path) == ["noughts.db"]


async def test_readers_cannot_write(arena: Arena) -> None:
    with pytest.raises(OperationalError, match="readonly"):
        await arena.store.read(partial(store_token, label="slipped past the writer"))
    assert await arena.store.read(labels) == []


async def test_writes_run_in_the_order_asked_and_in_one_thread(arena: Arena) -> None:
    threads = set()

    def write(connection: Connection, number: int) -> int:
        threads.add(threading.get_ident())
        store_token(connection, str(number))
        return number

    numbers = await asyncio.gather(*(arena.store.write(partial(write, number=number)) for number in range(20)))
    assert numbers == list(range(20))
    assert await arena.store.read(labels) == [str(number) for number in range(20)]
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_a_write_locks_the_database_before_it_reads(arena: Arena) -> None:
    def read_first(connection: Connection) -> None:
        labels(connection)
        with closing(sqlite3.connect(arena.path, 0)) as other, pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")

    await arena.store.write(read_first)


async def test_exception_rolls_back_and_reaches_the_caller(arena: Arena) -> None:
    def fail(connection: Connection) -> None:
        store_token(connection, "lost")
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await arena.store.write(fail)
    await arena.store.write(partial(store_token, label="kept"))
    assert await arena.store.read(labels) == ["kept"]


async def test_reader_sees_one_state_while_writes_go_on(arena: Arena) -> None:
    reading, written = threading.Event(), threading.Event()

    def look_twice(connection: Connection) -> tuple[list[str], list[str]]:
        before = labels(connection)
        reading.set()
        assert written.wait(10)
        return before, labels(connection)

    async def write() -> None:
        await asyncio.to_thread(reading.wait, 10)
        await arena.store.write(partial(store_token, label="new"))
        written.set()

    (before, after), _ = await asyncio.gather(arena.store.read(look_twice), write())
    assert before == after == []
    assert await arena.store.read(labels) == ["new"]


async def test_broken_reference_is_refused(arena: Arena) -> None:
    def orphan(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO bots (name, owner_id, created_at) VALUES ('ada', 99, 0)")

    with pytest.raises(Exception, match="FOREIGN KEY"):
        await arena.store.write(orphan)


async def test_closing_finishes_queued_writes_and_can_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    store = await Store.open(f"sqlite:///{path}")
    writes = [store.write(partial(store_token, label=str(number))) for number in range(5)]
    pending = asyncio.gather(*writes)
    await asyncio.sleep(0)
    await asyncio.gather(store.close(), store.close())
    await pending
    await store.close()
    with pytest.raises(Draining):
        await store.write(partial(store_token, label="late"))
    with pytest.raises(Draining):
        await store.read(labels)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM tokens").fetchone() == (5,)
    assert os.listdir(tmp_path) == ["noughts.db"]


async def test_database_held_by_another_process_is_busy_and_unchanged(arena: Arena) -> None:
    with closing(sqlite3.connect(arena.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusy):
            await arena.store.write(partial(store_token, label="new"))
        with pytest.raises(DatabaseUnusable, match="another process has locked it"):
            await open_once(arena.path)
        other.execute("ROLLBACK")
    await arena.store.write(partial(store_token, label="new"))
    assert await arena.store.read(labels) == ["new"]


async def test_write_during_retries_fails_with_the_remedy_of_the_outage(arena: Arena) -> None:
    attempts = []

    def fail_twice(connection: Connection) -> None:
        attempts.append(connection)
        if len(attempts) < 3:
            raise DatabaseBusy("out of memory", problem="its server has no memory left", remedy="Check its log.")

    async def first_failure() -> None:
        while True:
            arena.store.check_available()
            await asyncio.sleep(0.001)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(arena.store.write_with_retries(fail_twice))
        with pytest.raises(DatabaseBusy) as refused:
            await first_failure()
    outage = refused.value
    assert (outage.got, outage.problem, outage.remedy) == (
        "out of memory",
        "its server has no memory left",
        "Check its log.",
    )
    assert arena.store.outage is None


@pytest.mark.parametrize(
    "url",
    ["", "noughts.db", "sqlite://", "sqlite:///:memory:", "sqlite:///a.db?mode=ro"],
)
async def test_unusable_address_is_an_error_that_shows_a_usable_one(url: str) -> None:
    with pytest.raises(BadDatabaseUrl, match="sqlite:////absolute"):
        await Store.open(url)


async def test_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(BadDatabaseUrl) as caught:
        await Store.open("mysql://me:hunter2@host/noughts")
    assert "hunter2" not in str(caught.value)


async def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseUnusable, match="folder"):
        await open_once(tmp_path / "file" / "noughts.db")


async def test_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable, match="it is a folder"):
        await open_once(tmp_path)


async def test_damaged_file_is_an_error_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(DatabaseUnusable, match="damaged or not a database"):
        await open_once(path)
    assert path.read_bytes() == b"not a database" * 1000


async def test_database_of_another_program_is_an_error_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE games (title TEXT)")
    with pytest.raises(DatabaseUnusable, match="another program"):
        await open_once(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("games",)]


async def test_database_of_a_newer_version_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "noughts.db"
    await open_once(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseTooNew) as caught:
        await open_once(path)
    assert caught.value.got == "9999"


def test_default_database_is_a_file_of_this_user() -> None:
    assert default_database_url().startswith("sqlite:////")


async def test_owner_is_created_once(arena: Arena) -> None:
    owner_ids = {await arena.store.write(partial(create_owner, name="alice")) for _ in range(3)}
    assert len(owner_ids) == 1
