"""Watch the database while a server runs: hold the games while the database is unavailable, and log that.

While the database is unavailable, no game begins; running games continue to their end, and their commit waits. The
guard retries, so that play resumes by itself. If the files of the database were removed, the server ends, because its
writes would be lost.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from noughts_referee.referee import Referee
from noughts_server.core.errors import DatabaseUnavailable
from noughts_server.store.engine.database import Store

logger = structlog.get_logger("noughts.store")

_PERIOD_SECONDS = 1.0
_HOLD_REASON = "the database"


class StoreGuard:
    """Holds games while the database is unavailable. One for each server."""

    def __init__(
        self, store: Store, referee: Referee | None, report_serving: Callable[[bool], Awaitable[None]] | None = None
    ) -> None:
        """`referee` is None if other processes play the games: they watch the database themselves.

        The guard calls `report_serving` with whether the database is available, after each change.
        """
        self._store = store
        self._referee = referee
        self._report_serving = report_serving
        self._has_changed = asyncio.Event()
        self._unavailable_since = 0.0
        self.outages = 0
        """The number of times that the database became unavailable."""
        store.on_outage_change = self._note_change

    async def run(self) -> None:
        """Watch until cancelled. Raise DatabaseGone if the files of the database were removed."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_files())
            tasks.create_task(self._retry_until_available())

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            self._store.check_place()

    async def _retry_until_available(self) -> None:
        # A stopping server makes the write fail.
        with suppress(DatabaseUnavailable):
            while True:
                await self._has_changed.wait()
                self._has_changed.clear()
                if self._report_serving is not None:
                    await self._report_serving(self._store.outage is None)
                if self._store.outage is not None:
                    # This returns when a write has succeeded, or fails. After a failure, another task's write can
                    # succeed: then `_note_change` sets the event again.
                    await self._store.try_to_write()

    def _note_change(self) -> None:
        outage = self._store.outage
        if outage is not None:
            if not self._unavailable_since:
                self._unavailable_since = time.monotonic()
            self.outages += 1
            if self._referee is not None:
                self._referee.hold(_HOLD_REASON)
            facts = {"reason": outage.reason, "problem": outage.problem, "got": outage.got}
            logger.error("database_unavailable", **facts, hint=outage.remedy)
        else:
            seconds = time.monotonic() - self._unavailable_since
            self._unavailable_since = 0.0
            logger.warning("database_available", seconds=round(seconds, 1))
            if self._referee is not None:
                self._referee.release_hold(_HOLD_REASON)
        self._has_changed.set()
