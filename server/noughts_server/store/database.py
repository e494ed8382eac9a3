"""The database: one writer thread, a few reader threads, and everything in transactions."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TypeVar

from sqlalchemy import URL, Engine
from sqlalchemy import Connection as Connection  # for annotations elsewhere: only the store imports SQLAlchemy
from sqlalchemy.exc import DBAPIError

from noughts_server.errors import DatabaseBusy, DatabaseUnusable, Draining
from noughts_server.store import dialect
from noughts_server.store.migrate import upgrade

Result = TypeVar("Result")

READERS = 4

_RETRIES = 40
_FIRST_RETRY_SECONDS = 0.1
_LONGEST_RETRY_SECONDS = 5.0


def default_database_url() -> str:
    """Where the database lies when nobody says: in the user's data folder."""
    from platformdirs import user_data_path

    return f"sqlite:///{user_data_path('noughts') / 'noughts.db'}"


def wall_clock_ms() -> int:
    """Milliseconds since 1970 in UTC: the only place where the server's store asks for the time of day."""
    return time.time_ns() // 1_000_000


class Store:
    """An open database. Functions of the `store` modules run in it through `read` and `write`.

    Writes run one after the other, in the order in which they were asked for, each in a transaction of its own.
    Reads run beside them and each sees one state of the database throughout. Safe to use from one event loop.
    """

    def __init__(self, url: URL, busy_seconds: float, now_ms: Callable[[], int], readers: int) -> None:
        self.url = url.render_as_string()
        """Its address, without a password."""
        self.created = False
        """Whether there was no database before."""
        self.now_ms = now_ms
        """Milliseconds since 1970 in UTC."""
        self._place = url
        self._writing = dialect.make_engine(url, 1, busy_seconds, writes=True)
        self._reading = dialect.make_engine(url, readers, busy_seconds, writes=False)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="store-reader")
        self._lock: IO[str] | None = None
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        readers: int = READERS,
        busy_seconds: float = 5.0,
        now_ms: Callable[[], int] = wall_clock_ms,
        alone: bool = False,
        create: bool = True,
    ) -> "Store":
        """Opens a database, makes it where there is none if `create`, and brings its schema up to date.

        Transactions wait up to `busy_seconds` for another process that holds the database. With `alone` no other
        store may be open that was opened so: two servers would play each other's tournaments.
        Raises BadDatabaseUrl, DatabaseUnusable (none there, no right to write, damaged, not ours), DatabaseTooNew,
        DatabaseBusy.
        """
        parsed = dialect.parse_url(url)
        if not create and dialect.is_new(parsed):
            hint = "Look at --db. `noughts serve` and `noughts token create` make a database where there is none."
            raise DatabaseUnusable(str(parsed.database), "it does not exist", hint=hint)
        store = cls(parsed, busy_seconds, now_ms, readers)
        try:
            store.created = dialect.is_new(parsed)
            await asyncio.get_running_loop().run_in_executor(store._writer, _prepare, store._writing, parsed)
            if alone:
                store._lock = _lock(parsed)
        except BaseException:
            await store.close()
            raise
        return store

    async def write(self, function: Callable[[Connection], Result]) -> Result:
        """Runs `function` in the one writer thread, inside one transaction.

        An exception rolls everything back and is raised here. Raises DatabaseBusy when another process holds the
        database for too long, Draining after `close`.
        """
        return await self._run(self._writer, self._write, function)

    async def write_patiently(self, function: Callable[[Connection], Result]) -> Result:
        """As `write`, but tries again while another process holds the database, for a few minutes at most.

        `function` must leave nothing behind when it is rolled back: it may run several times.
        """
        delay = _FIRST_RETRY_SECONDS
        for _ in range(_RETRIES):
            try:
                return await self.write(function)
            except DatabaseBusy:
                await asyncio.sleep(delay)
                delay = min(2 * delay, _LONGEST_RETRY_SECONDS)
        return await self.write(function)

    async def read(self, function: Callable[[Connection], Result]) -> Result:
        """Runs `function` in a reader thread; what it sees does not change meanwhile, and it cannot change anything.

        Raises Draining after `close`.
        """
        return await self._run(self._readers, self._read, function)

    def size_bytes(self) -> int:
        """How much room the database takes on the disk."""
        return dialect.size_bytes(self._place)

    async def close(self) -> None:
        """Finishes what was asked for, then closes every connection. May be called again."""
        self._closed = True
        loop = asyncio.get_running_loop()
        # The default executor only waits here; both pools end their own threads.
        await loop.run_in_executor(None, self._shut_down)

    def _shut_down(self) -> None:
        self._readers.shutdown(wait=True)
        self._writer.shutdown(wait=True)
        self._writing.dispose()
        self._reading.dispose()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def _run(
        self,
        executor: ThreadPoolExecutor,
        runner: Callable[[Callable[[Connection], Result]], Result],
        function: Callable[[Connection], Result],
    ) -> Result:
        if self._closed:
            raise Draining()
        return await asyncio.get_running_loop().run_in_executor(executor, runner, function)

    def _write(self, function: Callable[[Connection], Result]) -> Result:
        try:
            with self._writing.begin() as connection:
                return function(connection)
        except DBAPIError as error:
            raise _named(error) from error

    def _read(self, function: Callable[[Connection], Result]) -> Result:
        try:
            with self._reading.begin() as connection:
                return function(connection)
        except DBAPIError as error:
            raise _named(error) from error


def _named(error: DBAPIError) -> Exception:
    return DatabaseBusy() if dialect.is_busy(error) else error


def _lock(url: URL) -> IO[str] | None:
    try:
        return dialect.lock_for_one(url)
    except OSError as error:
        raise DatabaseUnusable(
            str(url.database), "another server uses it", hint="Stop that one, or choose another database with --db."
        ) from error


def _prepare(engine: Engine, url: URL) -> None:
    place = str(url.database)
    try:
        dialect.prepare_place(url)
        with engine.begin() as connection:
            upgrade(connection, place)
    except OSError as error:
        raise DatabaseUnusable(
            place, f"its folder cannot be made ({error.strerror})", hint="Choose another place with --db."
        ) from error
    except DBAPIError as error:
        if dialect.is_busy(error):
            raise DatabaseBusy() from error
        folder = Path(place).parent
        raise DatabaseUnusable(
            place, str(error.orig), hint=f"Is {folder} writable and the file a database of Noughts?"
        ) from error
