"""PostgreSQL: the functions that `dialect` needs.

A writing transaction locks the whole database, as with SQLite. The values that a function has read therefore stay valid
until its transaction ends. Only heartbeats write without this lock: see `Store.write_beside`.
"""

import getpass
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import psycopg
from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from noughts_referee.work_units import FinishedGame
from noughts_server.core.addresses import without_passwords
from noughts_server.core.errors import (
    BadDatabaseUrl,
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseForbidden,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DatabaseUnreachable,
    DatabaseUnusable,
    InvalidArgument,
    NoughtsError,
)
from noughts_server.store.engine.addresses import shown_address
from noughts_server.store.engine.finished_rows import COLUMNS, finished_row

_DRIVER = "postgresql+psycopg"
# Keys of advisory locks, which PostgreSQL keeps separate for each database.
_WRITER_LOCK = 0x6E6F75676874
_SERVER_LOCK = 0x6E6F75676875
_CONNECT_SECONDS = 5
"""Time limit of a new connection."""
_SILENT_SECONDS = 5
"""Limit for a connection without an answer from the other side."""
# Limits of the idle time between two statements of a writing transaction, well below the silence limit of a node.
#
# No other node can write during this time. On a busy machine, a transaction can need longer. If PostgreSQL ends a
# transaction for this reason, the limit of the next one doubles, up to the larger number. Each commit halves it.
# Therefore a retry succeeds eventually.
IDLE_SECONDS = 3
_LONGEST_IDLE_SECONDS = 24
_IDLE_TOO_LONG = "25P03"
"""The SQLSTATE of a transaction that was idle for too long."""
_NULL_CHARACTER = "22021"
"""The SQLSTATE of a text with U+0000, which PostgreSQL does not accept. Usually the driver refuses it before."""

_NO_ANSWER = "the server gave no answer before this process had to end"

_CHECK_LOG = "Check the log of PostgreSQL."
_KINDS: dict[str, Callable[[str], NoughtsError]] = {
    "08": DatabaseUnreachable,  # the connection failed
    "53100": partial(DatabaseFull, remedy="Free some space on the disk of the PostgreSQL server."),
    "53200": partial(DatabaseBusy, problem="its server has no memory left", remedy=_CHECK_LOG),
    "53300": partial(
        DatabaseBusy,
        problem="its server accepts no more connections",
        remedy="Raise max_connections of PostgreSQL, or end other sessions (pg_stat_activity lists them).",
    ),
    "53": partial(DatabaseBusy, problem="its server has reached a limit", remedy=_CHECK_LOG),
    "25006": partial(
        DatabaseReadOnly,
        remedy="Is it a standby, or is default_transaction_read_only on? Connect to the primary server.",
    ),
    "3F000": DatabaseForbidden,  # no schema in which it can create tables
    "42501": DatabaseForbidden,  # permission denied
    _IDLE_TOO_LONG: DatabaseUnreachable,  # the transaction was idle too long, so PostgreSQL disconnected
    "55P03": partial(
        DatabaseBusy,
        problem="another session has locked it",
        remedy="Find the session in pg_locks and pg_stat_activity, and end it with pg_terminate_backend(PID).",
    ),
    "57014": partial(
        DatabaseBusy,
        problem="a statement took too long",
        remedy="Check the load of the PostgreSQL server, and its statement_timeout.",
    ),
    "57P": DatabaseUnreachable,  # PostgreSQL starts or stops
    "58": DatabaseUnreachable,  # an error of its operating system
    "XX001": DatabaseDamaged,
    "XX002": DatabaseDamaged,
}
"""Errors by SQLSTATE, or by its beginning."""


def parse_url(url: str) -> URL:
    """Parse the address of a database. Raises BadDatabaseUrl."""
    expected = f"e.g. `{_DRIVER}://USER@HOST/DATABASE`"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: an invalid port
        raise BadDatabaseUrl(without_passwords(url), expected=expected) from None
    if parsed.drivername not in ("postgresql", "postgres", _DRIVER) or not parsed.database:
        raise BadDatabaseUrl(shown_address(parsed), expected=expected)
    return parsed.set(drivername=_DRIVER)


def place(url: URL) -> str:
    """Return the name of the database for messages: its address, without a password."""
    return shown_address(url)


def is_new(url: URL) -> bool:
    """Return whether the database is empty. Raises DatabaseUnusable if it cannot be reached."""
    try:
        with closing(psycopg.connect(_conninfo(url), connect_timeout=_CONNECT_SECONDS)) as connection:
            row = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
            return row is None or row[0] is None
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        if "does not exist" in reason and f'database "{url.database}"' in reason:
            raise DatabaseUnusable(place(url), "it does not exist", hint=f"Create it: {_createdb(url)}") from error
        hint = "Is it running there, and can this user connect to that database? Try `psql` with the same address."
        raise DatabaseUnusable(place(url), f"it cannot be reached ({reason})", hint=hint) from error


def not_created(url: URL) -> DatabaseUnusable:
    """Return the error of a command that needs the tables of Noughts, but does not create them."""
    hint = "Check --db. `noughts serve` and `noughts token create` create the tables."
    return DatabaseUnusable(place(url), "it exists, but has no tables of Noughts", hint=hint)


def prepare_place(url: URL) -> bool:
    """Do nothing: the operator of PostgreSQL has created the database."""
    return False


def remove_if_empty(url: URL) -> None:
    """Do nothing."""


def size_bytes(url: URL, connection: Connection) -> int:
    """Return the size of the database on the disk of its server."""
    return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())


def lock_for_one_server(url: URL, connection: Connection) -> None:
    """Lock the database for one server until this connection of the writing engine is closed.

    PostgreSQL unlocks it at the end of the session, so each later connection of the engine locks it again, or fails.
    Therefore only one server can write. Raises BlockingIOError if another process has locked it.
    """
    with _errors_of_driver("pg_try_advisory_lock"):
        has_lock = _try_server_lock(connection.connection.driver_connection)
    if not has_lock:
        raise BlockingIOError
    event.listen(connection.engine, "connect", _lock_again)


def _lock_again(connection: "psycopg.Connection[Any]", record: object) -> None:
    if not _try_server_lock(connection):
        raise DatabaseBusy(problem="another server uses it", remedy="Stop one of the two servers.")


def _try_server_lock(connection: Any) -> bool:
    # Not by SQLAlchemy, whose transaction would wait for the writers of the other server.
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_SERVER_LOCK,)).fetchone()
    connection.rollback()  # does not unlock it
    return bool(row[0])


@contextmanager
def _errors_of_driver(statement: str) -> Iterator[None]:
    """Raise errors of the driver as SQLAlchemy does, for statements that it does not run."""
    try:
        yield
    except psycopg.Error as error:
        raise DBAPIError(statement, None, error) from error


def make_engine(url: URL, connections: int, busy_seconds: float, *, writes: bool) -> Engine:
    """Create an engine with a pool of `connections`; any thread may use one at a time.

    With `writes`, a transaction locks the database before it reads anything. Without it, every statement of a
    transaction sees the same state of the database, and statements that would change it fail.
    """
    engine = _make_engine(url, connections, _settings(busy_seconds), writes=writes)
    if writes:
        _IdleLimit(locks_database=True).listen(engine)
    return engine


def make_row_engine(url: URL, busy_seconds: float) -> Engine:
    """Create an engine with one connection whose transactions write next to others, and lock only the rows they change.

    A crash of PostgreSQL can lose its commits of the last second.
    """
    settings = _settings(busy_seconds) | {"synchronous_commit": "off"}
    engine = _make_engine(url, 1, settings, writes=True)
    _IdleLimit(locks_database=False).listen(engine)
    return engine


def _make_engine(url: URL, connections: int, settings: dict[str, str | int], *, writes: bool) -> Engine:
    engine = create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        # A restarted PostgreSQL has closed all connections.
        pool_pre_ping=True,
        isolation_level="READ COMMITTED" if writes else "REPEATABLE READ",
        connect_args={
            "connect_timeout": _CONNECT_SECONDS,
            # Neither side waits for a machine that has failed, because other sessions need its locks.
            "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
            "keepalives_idle": 2,
            "keepalives_interval": 1,
            "keepalives_count": 3,
            "tcp_user_timeout": 1000 * _SILENT_SECONDS,
        },
        execution_options={} if writes else {"postgresql_readonly": True},
    )
    open_connections = _CONNECTIONS[engine] = _Connections()
    event.listen(engine, "do_connect", open_connections.begin)
    event.listen(engine, "connect", open_connections.add)
    return engine


def answers(url: URL) -> bool:
    """Return whether the server answers a new connection within a few seconds."""
    try:
        psycopg.connect(_conninfo(url), connect_timeout=_CONNECT_SECONDS).close()
    except psycopg.Error:
        return False
    return True


def cut_off(engine: Engine) -> None:
    """Make all statements fail, also those that wait for an answer: a frozen server never answers."""
    _CONNECTIONS[engine].cut_off()


class _Connections:
    """The connections of an engine, until they are cut off."""

    def __init__(self) -> None:
        self._open: WeakSet[psycopg.Connection[Any]] = WeakSet()
        self._are_cut = False

    def begin(self, *options: Any) -> None:
        """Raise psycopg.OperationalError after `cut_off`."""
        if self._are_cut:
            raise psycopg.OperationalError(_NO_ANSWER)

    def add(self, connection: "psycopg.Connection[Any]", record: object) -> None:
        self._open.add(connection)

    def cut_off(self) -> None:
        self._are_cut = True
        for connection in list(self._open):
            with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as copy:
                copy.shutdown(socket.SHUT_RDWR)


_CONNECTIONS: "WeakKeyDictionary[Engine, _Connections]" = WeakKeyDictionary()


class _IdleLimit:
    """The limit of the time between two statements of a writer, see `IDLE_SECONDS`."""

    def __init__(self, *, locks_database: bool) -> None:
        self._seconds = IDLE_SECONDS
        self._locks_database = locks_database

    def listen(self, engine: Engine) -> None:
        """Limit the transactions of this engine."""
        event.listen(engine, "begin", self.begin)
        event.listen(engine, "commit", self.committed)
        event.listen(engine, "handle_error", self.failed)

    def begin(self, connection: Connection) -> None:
        """Set the limit in a session. If its transactions lock the database, wait until no other transaction writes."""
        if self._seconds > IDLE_SECONDS:
            connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {1000 * self._seconds}")
        if self._locks_database:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITER_LOCK})")

    def committed(self, connection: Connection) -> None:
        self._seconds = max(self._seconds // 2, IDLE_SECONDS)

    def failed(self, context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(error, psycopg.Error) and error.sqlstate == _IDLE_TOO_LONG:
            self._seconds = min(2 * self._seconds, _LONGEST_IDLE_SECONDS)


def _settings(busy_seconds: float) -> dict[str, str | int]:
    """Return the settings of a session; times are in ms or s, as PostgreSQL expects them."""
    return {
        "lock_timeout": round(1000 * busy_seconds),
        "timezone": "UTC",
        "idle_in_transaction_session_timeout": 1000 * IDLE_SECONDS,
        "tcp_keepalives_idle": 2,
        "tcp_keepalives_interval": 1,
        "tcp_keepalives_count": 3,
        "tcp_user_timeout": 1000 * _SILENT_SECONDS,
    }


def check_writable(connection: Connection) -> None:
    """Write a row, because only an attempt shows whether the database can be written."""
    connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")


def now_ms(connection: Connection) -> int:
    """Return the time by the database's clock, in milliseconds since 1970."""
    statement = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    return int(connection.exec_driver_sql(statement).scalar_one())


def insert_games(connection: Connection, games: Sequence[FinishedGame], ended_at: int) -> None:
    """Store games by COPY."""
    driver: Any = connection.connection.driver_connection
    statement = f"COPY games ({', '.join(COLUMNS)}, ended_at) FROM STDIN"
    with _errors_of_driver(statement), driver.cursor() as cursor, cursor.copy(statement) as copy:
        for game in games:
            copy.write_row((*finished_row(game), ended_at))


def findings(connection: Connection) -> Iterator[str]:
    """Yield nothing: PostgreSQL checks pages and foreign keys whenever it reads or writes them."""
    yield from ()


def translate(error: DBAPIError) -> NoughtsError | None:
    """Return the NoughtsError for an error of the driver; None if the statement itself was wrong."""
    state = error.orig.sqlstate if isinstance(error.orig, psycopg.Error) else None
    if state == _NULL_CHARACTER or (state is None and isinstance(error.orig, psycopg.DataError)):
        return InvalidArgument("request", message="a text of the request contains the character U+0000")
    if state is None:
        is_disconnected = isinstance(error.orig, psycopg.OperationalError | psycopg.InterfaceError)
        return DatabaseUnreachable(str(error.orig)) if is_disconnected else None
    for length in (5, 3, 2):
        kind = _KINDS.get(state[:length])
        if kind is not None:
            return kind(_message(error.orig))
    return None


def _message(error: Any) -> str:
    """Return PostgreSQL's message, without the statement and its line."""
    primary: str | None = error.diag.message_primary
    return primary or " ".join(str(error).split())


def unusable(place: str, error: NoughtsError) -> DatabaseUnusable:
    """Return the reason why a database cannot be opened, with its address and a hint."""
    if isinstance(error, DatabaseForbidden):
        return DatabaseUnusable(place, f"{error.problem} ({error.got})", hint=_owner_hint(make_url(place)))
    if isinstance(error, DatabaseUnavailable):
        return DatabaseUnusable(place, f"{error.problem} ({error.got})", hint=error.remedy)
    return DatabaseUnusable(place, str(error), hint=_CHECK_LOG)


def _owner_hint(url: URL) -> str:
    """Return the commands that give the user of this address a database of its own, or this one."""
    user = url.username or getpass.getuser()
    return (
        f"Let {user} own the database. For a new one: {_createdb(url)}."
        f" For this one: psql -c 'ALTER DATABASE {url.database} OWNER TO {user}' {url.database}"
    )


def _createdb(url: URL) -> str:
    return f"createdb -O {url.username or getpass.getuser()} {url.database}"


def guard(place: str) -> Callable[[], str | None]:
    """Return a function that always returns None, because the database has no file on this machine."""
    return lambda: None


def _conninfo(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)
