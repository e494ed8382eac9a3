"""Watch the database while a server runs: hold the games while it is unavailable, and report that.

While it is unavailable no game begins; running games continue to their end, and their commit waits. The guard
retries repeatedly, so that play resumes by itself. If the files were removed, the server ends, because its writes
would be lost.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from noughts_referee.referee import Referee
from noughts_server.core.errors import DatabaseTrouble
from noughts_server.store.engine.database import Store

logger = structlog.get_logger("noughts.store")

_PERIOD_SECONDS = 1.0
_WHY = "the database"


class StoreGuard:
    """Holds games while the database is unavailable. One for each server."""

    def __init__(
        self, store: Store, referee: Referee | None, serving: Callable[[bool], Awaitable[None]] | None = None
    ) -> None:
        """Create the guard. It calls `serving` when the server loses or regains the ability to store.

        `referee`: None if other processes play the games, because these watch the database themselves.
        """
        self._store = store
        self._referee = referee
        self._serving = serving
        self._news = asyncio.Event()
        self._since = 0.0
        self.troubles = 0
        """The number of times that it was unavailable."""
        store.on_trouble = self._changed

    async def run(self) -> None:
        """Watch until cancelled. Raise DatabaseGone if the files of the database were removed."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_place())
            tasks.create_task(self._see_through())

    async def _watch_place(self) -> None:
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            self._store.check_place()

    async def _see_through(self) -> None:
        # When the server stops, this task no longer waits for the database.
        with suppress(DatabaseTrouble):
            while True:
                await self._news.wait()
                self._news.clear()
                if self._serving is not None:
                    await self._serving(self._store.trouble is None)
                if self._store.trouble is not None:
                    # Another task that waits can succeed later; that sets the event again.
                    await self._store.try_to_write()

    def _changed(self) -> None:
        trouble = self._store.trouble
        if trouble is not None:
            if not self._since:
                self._since = time.monotonic()
            self.troubles += 1
            if self._referee is not None:
                self._referee.hold(_WHY)
            facts = {"reason": trouble.reason, "problem": trouble.problem, "got": trouble.got}
            logger.error("database_unavailable", **facts, hint=trouble.remedy)
        else:
            seconds = time.monotonic() - self._since
            self._since = 0.0
            logger.warning("database_available", seconds=round(seconds, 1))
            if self._referee is not None:
                self._referee.go_on(_WHY)
        self._news.set()
