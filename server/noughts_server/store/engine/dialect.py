"""Select the module for a kind of database: `sqlite` or `postgresql`. All other SQL works with both."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError

from noughts_referee.work_units import FinishedGame
from noughts_server.core.errors import DatabaseUnusable, NoughtsError
from noughts_server.store.engine import sqlite


class Closing(Protocol):
    """A resource that is kept until it is closed."""

    def close(self) -> None: ...


class Dialect(Protocol):
    """The functions of a database's module; `sqlite` and `postgresql` document them."""

    def place(self, url: URL) -> str: ...
    def is_new(self, url: URL) -> bool: ...
    def not_created(self, url: URL) -> DatabaseUnusable: ...
    def prepare_place(self, url: URL) -> bool: ...
    def remove_if_empty(self, url: URL) -> None: ...
    def size_bytes(self, url: URL, connection: Connection) -> int: ...
    def lock_for_one_server(self, url: URL, connection: Connection) -> Closing | None: ...
    def make_engine(self, url: URL, connections: int, busy_seconds: float, *, writes: bool) -> Engine: ...
    def make_row_engine(self, url: URL, busy_seconds: float) -> Engine | None: ...
    def answers(self, url: URL) -> bool: ...
    def cut_off(self, engine: Engine) -> None: ...
    def check_writable(self, connection: Connection) -> None: ...
    def now_ms(self, connection: Connection) -> int: ...
    def insert_games(self, connection: Connection, games: Sequence[FinishedGame], ended_at: int) -> None: ...
    def findings(self, connection: Connection) -> Iterator[str]: ...
    def translate(self, error: DBAPIError) -> NoughtsError | None: ...
    def unusable(self, place: str, error: NoughtsError) -> DatabaseUnusable: ...
    def guard(self, place: str) -> Callable[[], str | None]: ...


def parse_url(url: str) -> URL:
    """Parse the address of a database, e.g. `sqlite:////var/lib/noughts.db`. Raises BadDatabaseUrl."""
    if url.startswith("postgres"):
        from noughts_server.store.engine import postgresql

        return postgresql.parse_url(url)
    return sqlite.parse_url(url)


def of_url(url: URL) -> Dialect:
    """Return the module for the database at this address."""
    return _module(url.get_backend_name())


def of(connection: Connection) -> Dialect:
    """Return the module for the database of this connection."""
    return _module(connection.dialect.name)


def _module(name: str) -> Dialect:
    if name == "sqlite":
        return sqlite
    from noughts_server.store.engine import postgresql

    return postgresql
