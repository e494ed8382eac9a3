"""The database: one writer thread, a few reader threads of three kinds, and every access in a transaction.

In a cluster, another thread writes heartbeats, because they must not wait for the writers of other nodes.

`Store.outage` is set while the database is unavailable: from the first failure until all retried transactions have
succeeded. Meanwhile other writes fail at once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Engine
from sqlalchemy import Connection as Connection  # for annotations elsewhere: only the store imports SQLAlchemy
from sqlalchemy.exc import DBAPIError

from noughts_server.core.errors import DatabaseGone, DatabaseReadOnly, DatabaseUnavailable, DatabaseUnusable, Draining
from noughts_server.core.turns import Turns, working
from noughts_server.store.engine import dialect, sqlite
from noughts_server.store.engine.addresses import shown_address
from noughts_server.store.engine.migrate import check_current, upgrade

Result = TypeVar("Result")

READERS = 4
"""Threads for the server's own reads."""
ANSWERERS = 3
"""Threads that build the answers of callers."""
_ALL_READERS = READERS + ANSWERERS + 1
BUSY_SECONDS = 5.0
"""The usual wait for another process that locks the database."""

_CLOSING_SECONDS = 10.0
"""The time in which `close` waits for transactions."""
_FIRST_RETRY_SECONDS = 0.1
"""The delay before the first further attempt. It doubles with each one."""
_LONGEST_RETRY_SECONDS = 2.0


def default_database_url() -> str:
    """Return the default address of the database, in the user's data folder."""
    from platformdirs import user_data_path

    return sqlite.url_of(user_data_path("noughts") / "noughts.db")


class Store:
    """An open database. Functions of the `store` modules run in it through `read` and `write`.

    Writes run one after the other, in the order of the calls, each in its own transaction. Reads run concurrently, and
    each sees one state of the database. Use a store from one event loop only.
    """

    def __init__(self, url: URL, busy_seconds: float) -> None:
        self.url = shown_address(url)
        """The address, without a password."""
        self.created = False
        """Whether `open` created the database."""
        self.migrated_from: str | None = None
        """The schema from which `open` migrated the database, if it did."""
        self.now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        """Returns milliseconds since 1970 in UTC. The store reads the time of day nowhere else."""
        self.outage: DatabaseUnavailable | None = None
        """Why the database is unavailable; None if no failure is known."""
        self.on_outage_change: Callable[[], None] = lambda: None
        """Called after each change of `outage`."""
        self.last_size_bytes = 0
        """The last result of `size_bytes`."""
        self.closed_to_others = False
        """Whether other users of this machine could read the database or hold its locks before it was opened."""
        self._place = url
        self._dialect = dialect.of_url(url)
        self._file_problem: Callable[[], str | None] = lambda: None
        """Returns how the files of the open database were replaced or removed; None if they were not."""
        self._retrying = 0
        """The number of transactions that retry until the database is available."""
        self._has_deadline = asyncio.Event()
        self._deadline = float("inf")
        """The time by the event loop's clock at which transactions stop retrying."""
        self._server_check: asyncio.TimerHandle | None = None
        """Checks at the deadline whether the server of the database answers."""
        self._writing = self._dialect.make_engine(url, 1, busy_seconds, writes=True)
        self._reading = self._dialect.make_engine(url, _ALL_READERS, busy_seconds, writes=False)
        self._row_writing = self._dialect.make_row_engine(url, busy_seconds)
        """Writes next to other transactions; None if the database cannot lock single rows."""
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._row_writer = ThreadPoolExecutor(1, thread_name_prefix="store-rows")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._answerers = ThreadPoolExecutor(ANSWERERS, thread_name_prefix="store-answers")
        self._identifying = ThreadPoolExecutor(1, thread_name_prefix="store-callers")
        self._turns = Turns(ANSWERERS)
        self._lock: dialect.Closing | None = None
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        busy_seconds: float | None = None,
        alone: bool = False,
        create: bool = True,
        reading: bool = False,
    ) -> "Store":
        """Open a database, create it if it is missing and `create` is true, and migrate its schema to this version.

        With `reading`, it must have the current schema, and the file can be read-only. With `alone`, only one store can
        be open at a time, because two servers would play the same tournaments. Transactions wait up to `busy_seconds`
        (default: `BUSY_SECONDS`) for another process that locks the database. Raises BadDatabaseUrl, DatabaseTooNew and
        DatabaseUnusable (missing, read-only, damaged, locked, not a database of Noughts).
        """
        parsed = dialect.parse_url(url)
        kind = dialect.of_url(parsed)
        is_new = kind.is_new(parsed)
        if not create and is_new:
            raise kind.not_created(parsed)
        store = cls(parsed, BUSY_SECONDS if busy_seconds is None else busy_seconds)
        try:
            store.created = is_new
            loop = asyncio.get_running_loop()
            if reading:
                await loop.run_in_executor(store._readers, _check_current, store._reading, parsed)
            else:
                await loop.run_in_executor(store._writer, store._prepare, alone)
            store._file_problem = kind.guard(kind.place(parsed))
        except BaseException:
            await store.close()
            if store.created:
                kind.remove_if_empty(parsed)
            raise
        return store

    async def write(self, function: Callable[[Connection], Result]) -> Result:
        """Run `function` in the one writer thread, inside one transaction.

        An exception rolls everything back and is raised here. Raises DatabaseUnavailable if the database cannot be
        written (at once while other transactions retry), DatabaseDamaged, DatabaseGone, and Draining after `close`.
        """
        self.check_available()
        result = await self._run(self._writer, self._write, function)
        self._note_success()
        return result

    async def write_with_retries(self, function: Callable[[Connection], Result]) -> Result:
        """Run `function` as `write` does, but retry while the database is unavailable; see `limit_retries`.

        `function` can run several times, so it must have no effects outside the transaction.
        """
        return await self._with_retries(lambda: self._run(self._writer, self._write, function))

    async def write_beside(self, function: Callable[[Connection], Result]) -> Result:
        """Run `function` as `write_with_retries` does, but next to other writing transactions and without their lock.

        So `function` can change only rows that no other transaction changes at the same time, or that it locks first. A
        crash of the database's server can lose its last commits. SQLite runs it as any other write.
        """
        engine = self._row_writing
        if engine is None:
            return await self.write_with_retries(function)
        write = partial(self._write_in, engine)
        return await self._with_retries(lambda: self._run(self._row_writer, write, function))

    async def read(self, function: Callable[[Connection], Result]) -> Result:
        """Run `function` in a reader thread; it sees one state of the database and cannot change it.

        Raises DatabaseUnavailable, DatabaseDamaged, and Draining after `close`.
        """
        return await self._run(self._readers, self._read, function)

    async def answer(
        self, function: Callable[[Connection], Result], caller: Hashable, *, kind: str = "", group: str = ""
    ) -> Result:
        """Run `function`, which reads and builds the answer to a caller, as `read` does, but in the caller's turn.

        While other calls wait, `give_way` makes the thread rest. The caller is charged for the processor time of the
        thread. If the call is cancelled, the thread still finishes its work and the caller is charged. `kind` names the
        work, to estimate its time, and `group` is the group of the caller; see `Turns.take`.
        """
        loop = asyncio.get_running_loop()
        work = (kind,) if kind else ()

        def answer(function: Callable[[Connection], Result]) -> Result:
            began = time.thread_time()
            try:
                with working(self._turns):
                    return self._read(function)
            finally:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(self._turns.charge, caller, time.thread_time() - began, work)

        async with self._turns.turn(caller, work, group):
            return await self._run(self._answerers, answer, function)

    async def identify(self, function: Callable[[Connection], Result]) -> Result:
        """Run `function`, which looks up a caller, as `read` does, but in a thread that does nothing else."""
        return await self._run(self._identifying, self._read, function)

    async def read_with_retries(self, function: Callable[[Connection], Result]) -> Result:
        """Run `function` as `read` does, but retry while the database is unavailable; see `limit_retries`."""
        return await self._with_retries(lambda: self._run(self._readers, self._read, function))

    def problem(self) -> str | None:
        """Return why the database is unavailable; None if no failure is known."""
        return None if self.outage is None else self.outage.problem

    def check_available(self) -> None:
        """Raise `outage` if other transactions retry already, because one more attempt would only take time."""
        if self.outage is not None and self._retrying:
            outage = self.outage
            raise type(outage)(outage.got, problem=outage.problem, remedy=outage.remedy)

    async def try_to_write(self) -> None:
        """Return as soon as the database can be written."""
        await self.write_with_retries(self._dialect.check_writable)

    def limit_retries(self, seconds: float) -> None:
        """Make transactions that retry fail after this many seconds.

        Transactions that wait for the database's server also fail if it does not answer a new connection.
        """
        loop = asyncio.get_running_loop()
        earlier_deadline = self._deadline
        self._deadline = min(earlier_deadline, loop.time() + seconds)
        self._has_deadline.set()
        if self._deadline < earlier_deadline:
            if self._server_check is not None:
                self._server_check.cancel()
            self._server_check = loop.call_at(self._deadline, self._look_for_server)

    def check_place(self) -> None:
        """Raise DatabaseGone if the files are not those that were opened, because writes would be lost."""
        problem = self._file_problem()
        if problem is not None:
            raise DatabaseGone(self._dialect.place(self._place), problem)

    async def size_bytes(self) -> int:
        """Return the size of the database on its disk. Raises as `read` does."""
        self.last_size_bytes = await self.read(lambda connection: self._dialect.size_bytes(self._place, connection))
        return self.last_size_bytes

    async def close(self) -> None:
        """Finish the pending transactions before the deadline, at most 10 s from now, then close every connection.

        Further calls do nothing.
        """
        self._closed = True
        self.limit_retries(_CLOSING_SECONDS)
        loop = asyncio.get_running_loop()
        # The thread of the default executor waits until the store's own threads have ended.
        await loop.run_in_executor(None, self._shut_down)
        if self._server_check is not None:
            self._server_check.cancel()

    def _look_for_server(self) -> None:
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, self._give_up)
        self._server_check = loop.call_later(_CLOSING_SECONDS, self._look_for_server)

    def _give_up(self) -> None:
        """Fail all transactions if the server of the database is silent, because their threads would never end."""
        if not self._dialect.answers(self._place):
            for engine in self._engines():
                self._dialect.cut_off(engine)

    def _engines(self) -> Iterator[Engine]:
        yield self._writing
        yield self._reading
        if self._row_writing is not None:
            yield self._row_writing

    def _prepare(self, alone: bool) -> None:
        """Create or migrate the database and try to write. With `alone`, lock it first, so that no server uses it."""
        url, kind = self._place, self._dialect
        place = kind.place(url)
        try:
            self.closed_to_others = kind.prepare_place(url)
            with self._writing.connect() as connection:
                # Lock before the transaction begins, which could wait for a transaction of the server that has the
                # lock.
                self._lock = _lock(url, connection) if alone else None
                with connection.begin():
                    self.migrated_from = upgrade(connection, place)
                    kind.check_writable(connection)
        except OSError as error:
            path = Path(place)
            target = "the file" if path.parent.is_dir() else f"its folder {path.parent}"
            raise DatabaseUnusable(
                place, f"{target} cannot be created ({error.strerror})", hint=_CHOOSE_PLACE
            ) from error
        except DBAPIError as error:
            translated = kind.translate(error)
            if translated is None:
                raise DatabaseUnusable(place, str(error), hint="Is it a Noughts database?") from error
            raise kind.unusable(place, translated) from error

    def _shut_down(self) -> None:
        for executor in (self._readers, self._answerers, self._identifying, self._row_writer, self._writer):
            executor.shutdown(wait=True)
        for engine in self._engines():
            engine.dispose()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def _with_retries(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        delay = _FIRST_RETRY_SECONDS
        is_retrying = False
        try:
            while True:
                try:
                    result = await attempt()
                    break
                except DatabaseUnavailable as outage:
                    if not is_retrying:
                        is_retrying = True
                        self._retrying += 1
                    await self._pause(delay, outage)
                    delay = min(2 * delay, _LONGEST_RETRY_SECONDS)
        finally:
            if is_retrying:
                self._retrying -= 1
        self._note_success()
        return result

    async def _pause(self, seconds: float, outage: DatabaseUnavailable) -> None:
        """Wait before the next attempt; raise `outage` if there is no time for one."""
        if not self._has_deadline.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._has_deadline.wait()
            return
        seconds_left = self._deadline - asyncio.get_running_loop().time()
        if seconds_left <= 0:
            raise outage
        await asyncio.sleep(min(seconds, seconds_left))

    def _note_success(self) -> None:
        """Clear `outage` after a success, unless other transactions still retry."""
        if self.outage is not None and not self._retrying:
            self.outage = None
            self.on_outage_change()

    async def _run(
        self,
        executor: ThreadPoolExecutor,
        runner: Callable[[Callable[[Connection], Result]], Result],
        function: Callable[[Connection], Result],
    ) -> Result:
        if self._closed:
            raise Draining()
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, runner, function)
        except DatabaseUnavailable as outage:
            earlier_outage, self.outage = self.outage, outage
            if type(earlier_outage) is not type(outage):
                self.on_outage_change()
            raise

    def _write(self, function: Callable[[Connection], Result]) -> Result:
        return self._write_in(self._writing, function)

    def _write_in(self, engine: Engine, function: Callable[[Connection], Result]) -> Result:
        try:
            with engine.begin() as connection:
                result = function(connection)
        except DBAPIError as error:
            raise self._dialect.translate(error) or error from error
        # Check before the caller relies on the write, because SQLite writes to a deleted file without an error.
        self.check_place()
        return result

    def _read(self, function: Callable[[Connection], Result]) -> Result:
        try:
            # The transaction is rolled back: a commit after a read fails if the part that was read is damaged.
            with self._reading.connect() as connection:
                return function(connection)
        except DBAPIError as error:
            translated = self._dialect.translate(error)
            # DatabaseReadOnly means here that a reader tried to write. The database itself works.
            if translated is None or isinstance(translated, DatabaseReadOnly):
                raise error from error
            raise translated from error


def _lock(url: URL, connection: Connection) -> dialect.Closing | None:
    kind = dialect.of_url(url)
    try:
        return kind.lock_for_one_server(url, connection)
    except BlockingIOError as error:
        hint = "Stop that server, or choose another database with --db."
        raise DatabaseUnusable(kind.place(url), "another server uses it", hint=hint) from error
    except OSError as error:
        problem = f"the file {error.filename} cannot be created ({error.strerror})"
        raise DatabaseUnusable(kind.place(url), problem, hint=_CHOOSE_PLACE) from error


_CHOOSE_PLACE = "Make it writable, or choose another place with --db."


def _check_current(engine: Engine, url: URL) -> None:
    kind = dialect.of_url(url)
    place = kind.place(url)
    try:
        with engine.connect() as connection:
            check_current(connection, place)
    except DBAPIError as error:
        raise kind.unusable(place, kind.translate(error) or DatabaseReadOnly(str(error))) from error
