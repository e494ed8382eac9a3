"""PostgreSQL: what `dialect` asks of a database.

Whoever writes holds a lock of the whole database for its transaction, as with SQLite: what a function has read stays so
until its transaction ends, in whatever process it runs.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import psycopg
from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.exc import ArgumentError, DBAPIError

from noughts_referee.work_units import FinishedGame
from noughts_server.errors import (
    BadDatabaseUrl,
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseTrouble,
    DatabaseUnreachable,
    DatabaseUnusable,
    NoughtsError,
)
from noughts_server.store.engine.troubles import Identity

_DRIVER = "postgresql+psycopg"
_WRITER_LOCK, _SERVER_LOCK = 0x6E6F75676874, 0x6E6F75676875
"""Keys of advisory locks; they are a database's own."""
_CONNECT_SECONDS = 5
_SILENT_SECONDS = 5
"""So long a connection may hear nothing."""
_RESTING_SECONDS = 3
"""So long a transaction may rest between two statements: while it has the lock, no node of a cluster can say that it
lives, so this is well below the time after which one counts as dead."""

_KINDS: dict[str, type[DatabaseTrouble | DatabaseDamaged]] = {
    "08": DatabaseUnreachable,  # the connection
    "53100": DatabaseFull,
    "53": DatabaseBusy,  # memory, connections
    "25006": DatabaseReadOnly,
    "25P03": DatabaseUnreachable,  # we have said nothing for so long that it has hung up
    "55P03": DatabaseBusy,  # a lock was waited for too long
    "57014": DatabaseBusy,  # a statement took too long
    "57P": DatabaseUnreachable,  # it starts, or stops
    "58": DatabaseUnreachable,  # the system beneath it
    "XX001": DatabaseDamaged,
    "XX002": DatabaseDamaged,
}
"""By SQLSTATE, or its beginning."""


def parse_url(url: str) -> URL:
    """Reads the address of a database. Raises BadDatabaseUrl."""
    expected = f"e.g. `{_DRIVER}://USER@HOST/DATABASE`"
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise BadDatabaseUrl(url.partition("@")[2] or url, expected) from None
    if parsed.drivername not in ("postgresql", "postgres", _DRIVER) or not parsed.database:
        raise BadDatabaseUrl(parsed.render_as_string(), expected)
    return parsed.set(drivername=_DRIVER)


def place(url: URL) -> str:
    """What the database is called in messages: its address, without a password."""
    return url.render_as_string()


def is_new(url: URL) -> bool:
    """Whether there is nothing in the database yet. Raises DatabaseUnusable where it cannot be reached."""
    try:
        with closing(psycopg.connect(_conninfo(url), connect_timeout=_CONNECT_SECONDS)) as connection:
            found = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
            return found is None or found[0] is None
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        hint = "Is it running there, and may this user connect to that database? `psql` with the same address tells."
        raise DatabaseUnusable(place(url), f"it cannot be reached ({reason})", hint=hint) from error


def prepare_place(url: URL) -> bool:
    """Whoever runs PostgreSQL has made the place."""
    return False


def remove_if_empty(url: URL) -> None:
    """The place stays."""


def is_writable(url: URL) -> bool:
    """True: what a user may do, PostgreSQL says when it is asked."""
    return True


def size_bytes(url: URL) -> int:
    """What it takes on this machine's disk, which is nothing."""
    return 0


def lock_for_one(url: URL) -> "psycopg.Connection[Any]":
    """Locks the database for one server until the returned connection is closed. Raises BlockingIOError."""
    connection = psycopg.connect(_conninfo(url), connect_timeout=_CONNECT_SECONDS, autocommit=True)
    got = connection.execute("SELECT pg_try_advisory_lock(%s)", (_SERVER_LOCK,)).fetchone()
    if got is None or not got[0]:
        connection.close()
        raise BlockingIOError
    return connection


def make_engine(url: URL, connections: int, busy_seconds: float, *, writes: bool) -> Engine:
    """An engine with a pool of so many connections, which any thread may use one at a time.

    Transactions of one that writes take the database before they read anything. In one that does not, a statement that
    would change anything fails, and all see one state of the database.
    """
    engine = create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        # A server that was started again has forgotten all connections.
        pool_pre_ping=True,
        isolation_level="READ COMMITTED" if writes else "REPEATABLE READ",
        connect_args={
            "connect_timeout": _CONNECT_SECONDS,
            # Neither side waits for a machine that is gone: what it holds, above all the lock of those who write, is
            # needed by others.
            "options": " ".join(f"-c {name}={value}" for name, value in _settings(busy_seconds).items()),
            "keepalives_idle": 2,
            "keepalives_interval": 1,
            "keepalives_count": 3,
            "tcp_user_timeout": 1000 * _SILENT_SECONDS,
        },
        execution_options={} if writes else {"postgresql_readonly": True},
    )
    if writes:
        event.listen(engine, "begin", _take)
    return engine


def _settings(busy_seconds: float) -> dict[str, str | int]:
    """What a session asks PostgreSQL for; times in milliseconds or seconds, as it has them."""
    return {
        "lock_timeout": round(1000 * busy_seconds),
        "timezone": "UTC",
        "idle_in_transaction_session_timeout": 1000 * _RESTING_SECONDS,
        "tcp_keepalives_idle": 2,
        "tcp_keepalives_interval": 1,
        "tcp_keepalives_count": 3,
        "tcp_user_timeout": 1000 * _SILENT_SECONDS,
    }


def _take(connection: Connection) -> None:
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITER_LOCK})")


def write_for_real(connection: Connection) -> None:
    """Writes a row: whether that goes is not known before."""
    connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")


def next_attempt(connection: Connection, table: Table, **key: int) -> int:
    """Counts the column `attempt` of the row with this key up, from 0 where there is none, and returns it."""
    statement = postgresql_insert(table).values(attempt=1, **key)
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns), set_={"attempt": table.c.attempt + 1}
    )
    return int(connection.execute(statement.returning(table.c.attempt)).scalar_one())


def now_ms(connection: Connection) -> int:
    """What time it is by the database's clock, in milliseconds since 1970."""
    statement = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    return int(connection.exec_driver_sql(statement).scalar_one())


def insert_games(connection: Connection, games: Sequence[FinishedGame], ended_at: int) -> None:
    """Stores games whose slots are free, by COPY; raises IntegrityError of the driver when one is not."""
    driver: Any = connection.connection.driver_connection
    columns = (
        "tournament_id, ordinal, attempt, first_entry, second_entry, result, termination, moves, times, fault, "
        "opening_plies, allowances, ended_at"
    )
    with driver.cursor() as cursor, cursor.copy(f"COPY games ({columns}) FROM STDIN") as copy:
        for game in games:
            # A plus makes plain numbers of members of enumerations.
            copy.write_row(
                (
                    *game[:5],
                    +game.result,
                    +game.termination,
                    game.moves,
                    game.times,
                    game.fault or None,
                    game.opening_plies,
                    game.allowances,
                    ended_at,
                )
            )


def findings(connection: Connection) -> Iterator[str]:
    """PostgreSQL checks its pages and its foreign keys itself, whenever it reads or writes them."""
    yield from ()


def named(error: DBAPIError) -> NoughtsError | None:
    """The error by our name for it; None for one of ours, as of a statement that is wrong."""
    state: str | None = getattr(error.orig, "sqlstate", None)
    if state is None:
        lost = isinstance(error.orig, psycopg.OperationalError | psycopg.InterfaceError)
        return DatabaseUnreachable(str(error.orig)) if lost else None
    for length in (5, 3, 2):
        kind = _KINDS.get(state[:length])
        if kind is not None:
            return kind(str(error.orig))
    return None


def unusable(url: URL, error: NoughtsError) -> DatabaseUnusable:
    """What keeps a database from being opened, with its place, and what to do."""
    if isinstance(error, DatabaseTrouble):
        return DatabaseUnusable(place(url), f"{error.problem} ({error.got})", hint=error.remedy)
    return DatabaseUnusable(place(url), str(error), hint="Look into the log of PostgreSQL.")


def identity(url: URL) -> Identity | None:
    """It is none of this machine's files."""
    return None


def missing(url: URL, before: Identity) -> str | None:
    """Nothing can be."""
    return None


def _conninfo(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)
