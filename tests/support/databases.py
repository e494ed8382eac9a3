"""Databases of tests: files of SQLite, or databases of a real PostgreSQL that comes as a package."""

import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import psycopg
import pytest
from sqlalchemy import create_engine  # noqa: TID251  # the template's tables are made as the store makes them

from noughts_server.store.engine import sqlite
from noughts_server.store.engine.migrate import upgrade
from tests.support.postgresql import server

SQLITE, POSTGRESQL = "sqlite", "postgresql"
SCHEMA_1_0 = Path(__file__).with_name("schema_1_0")
"""The tables of version 1.0.0 as SQL, for each kind of database."""
_TEMPLATE = "noughts_template"
# The names of all tables and indexes with their numbers of columns, and the last migration.
_SHAPE = """
    SELECT string_agg(relname || relnatts::text, ',' ORDER BY relname), (SELECT version_num FROM alembic_version)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace
"""


class Place:
    """The place of a test's databases, set by the fixture `database_kind`."""

    kind = SQLITE
    host = ""
    """The folder of PostgreSQL's socket."""
    created: ClassVar[list[str]] = []
    """Names of databases with our tables that this test has created there."""
    free: ClassVar[list[str]] = []
    """Names of emptied databases of earlier tests: creating a database takes ten times as long as emptying one."""


def database_kind_of(item: pytest.Item) -> str | None:
    """Return the kind of the databases of a test, if it is a parameter of the test."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("database_kind") if callspec is not None else None


def url_of(path: Path) -> str:
    """The address of the database that goes by this path."""
    if Place.kind == SQLITE:
        return f"sqlite:///{path}"
    return f"postgresql+psycopg://postgres@/{_name(path)}?host={quote(Place.host, safe='')}"


def make_database(path: Path, *, empty: bool = False) -> str:
    """Create the database that goes by this path if it is missing, and return its address.

    It has our tables, copied from a template in little time, or none if `empty`.
    """
    if Place.kind == POSTGRESQL:
        with closing(_connect("postgres")) as connection:
            _create(connection, _name(path), empty=empty)
    elif not empty and not path.exists():
        make_file(path)
    return url_of(path)


def make_file(path: Path) -> None:
    """Create a database of SQLite with our tables: copying a file takes a tenth of the time of creating the tables."""
    path.touch(0o600)
    path.write_bytes(_file_template())


@cache
def _file_template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "template.db")
        engine = sqlite.make_engine(sqlite.parse_url(sqlite.url_of(file)), 1, 1.0, writes=True)
        with engine.begin() as template:
            upgrade(template, file.name)
        engine.dispose()
        return file.read_bytes()


def _create(connection: "psycopg.Connection[Any]", name: str, *, empty: bool) -> None:
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
        return
    if empty:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        return
    if Place.free:
        connection.execute(f'ALTER DATABASE "{Place.free.pop()}" RENAME TO "{name}"')
    else:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE {_TEMPLATE}')
    Place.created.append(name)


@contextmanager
def stopped_postgresql() -> Iterator[Callable[[], None]]:
    """Stop PostgreSQL; the block gets the function that starts it again."""
    server().stop()
    yield server().start


def kill_postgresql() -> Callable[[], None]:
    """Kill PostgreSQL, and return the function that starts it again."""
    server().kill()
    return server().start


def socket_folder() -> str:
    """The folder of PostgreSQL's socket."""
    return Place.host


def rows_of(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """Return rows of the database, read by another program."""
    if Place.kind == SQLITE:
        with closing(sqlite3.connect(path)) as file:
            return file.execute(statement).fetchall()
    with closing(_connect(_name(path))) as connection:
        return connection.execute(statement).fetchall()


def change(path: Path, statement: str) -> None:
    """Change the database by another program."""
    if Place.kind == SQLITE:
        with closing(sqlite3.connect(path)) as file, file:
            file.execute(statement)
        return
    with closing(_connect(_name(path))) as connection:
        connection.execute(statement)


@contextmanager
def databases_of(kind: str, *, reused: bool = False) -> Iterator[None]:
    """Databases are of this kind inside the block. `reused`: other tests get the databases of this one afterwards."""
    previous_kind = Place.kind
    previously_created = Place.created
    if kind == POSTGRESQL:
        Place.host = _start_postgresql()
    Place.kind, Place.created = kind, []
    try:
        yield
        if reused:
            _free_for_others(Place.created)
    finally:
        Place.kind, Place.created = previous_kind, previously_created


def _free_for_others(names: list[str]) -> None:
    """Empty these databases for other tests, unless they are still in use or have tables of another schema."""
    for name in names:
        free = f"noughts_free_{name}"
        with suppress(psycopg.OperationalError), closing(_connect(name)) as connection:
            if connection.execute(_SHAPE).fetchone() == _template_shape():
                connection.execute(f"TRUNCATE {_tables()} RESTART IDENTITY")
                connection.close()
                with closing(_connect("postgres")) as other:
                    other.execute(f'ALTER DATABASE "{name}" RENAME TO "{free}"')
                Place.free.append(free)


@cache
def _template_shape() -> "tuple[Any, ...] | None":
    with closing(_connect(_TEMPLATE)) as connection:
        return connection.execute(_SHAPE).fetchone()


@cache
def _tables() -> str:
    with closing(_connect(_TEMPLATE)) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return ", ".join(f'"{name}"' for (name,) in rows if name != "alembic_version")


@cache
def _start_postgresql() -> str:
    """Start the PostgreSQL of this process with a template database, and return the folder of its socket."""
    Place.host = str(server().folder)
    with closing(_connect("postgres")) as connection:
        connection.execute(f"CREATE DATABASE {_TEMPLATE} TEMPLATE template0")
    engine = create_engine(f"postgresql+psycopg://postgres@/{_TEMPLATE}?host={quote(Place.host, safe='')}")
    with engine.begin() as template:
        upgrade(template, _TEMPLATE)
    engine.dispose()
    return Place.host


def _name(path: Path) -> str:
    digest = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
    return f"noughts_{digest}"


def _connect(database: str) -> "psycopg.Connection[Any]":
    return psycopg.connect(dbname=database, host=Place.host, user="postgres", autocommit=True)
