"""Looks after the database while a server runs: what waits while it is unavailable, and who learns of it.

While it cannot be used no game begins; running games continue to their end, and their commit waits. The guard
retries again and again, so that play resumes by itself. If the files were removed, the server ends, because its writes
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
        """`serving` is called when the server begins and ceases to be able to store anything.

        `referee`: None if others play the games, which look after the database themselves.
        """
        self._store = store
        self._referee = referee
        self._serving = serving
        self._news = asyncio.Event()
        self._since = 0.0
        self.troubles = 0
        """How often it was unavailable."""
        store.on_trouble = self._changed

    async def run(self) -> None:
        """Watches until it is cancelled. Raises DatabaseGone when the files of the database were taken away."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_place())
            tasks.create_task(self._see_through())

    async def _watch_place(self) -> None:
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            self._store.check_place()

    async def _see_through(self) -> None:
        # When the server stops nobody waits for the end of a trouble any more.
        with suppress(DatabaseTrouble):
            while True:
                await self._news.wait()
                self._news.clear()
                if self._serving is not None:
                    await self._serving(self._store.trouble is None)
                if self._store.trouble is not None:
                    # Whoever waits for the same may be through later: there will be news then.
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
