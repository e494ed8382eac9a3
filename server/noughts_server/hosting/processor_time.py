"""The processor time that each owner's bots use in a day, counted in the database for all servers and referees."""

import asyncio
from collections import Counter
from contextlib import suppress
from functools import partial

import structlog

from noughts_server.core.errors import NoughtsError
from noughts_server.core.limits import Limits
from noughts_server.store.engine.database import Store
from noughts_server.store.people.submissions import add_processor_time, processor_time

logger = structlog.get_logger("noughts.submitted")

_DAY_MS = 86_400_000


class ProcessorTime:
    """The processor time that each owner has used today, in UTC, as far as this process knows."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._used: Counter[int] = Counter()
        """In milliseconds, by the owner's key."""
        self._unsaved: Counter[int] = Counter()
        self._saving = asyncio.Lock()

    def check(self, owner: int) -> None:
        """Raise LimitReached if nothing is left for the owner today."""
        used = self._used[owner] // 1000
        self._limits.check("processor_seconds", "seconds of processor time that your bots can use today", used)

    def is_spent(self, owner: int) -> bool:
        return self._used[owner] >= self._limits.processor_seconds * 1000

    def charge(self, owner: int, seconds: float) -> None:
        """Count processor time; `save` stores it."""
        before = self.is_spent(owner)
        used = max(0, round(1000 * seconds))
        self._used[owner] += used
        self._unsaved[owner] += used
        if self.is_spent(owner) and not before:
            logger.warning("processor_time_used_up", owner=owner)

    @property
    def is_saved(self) -> bool:
        return not self._unsaved.total()

    async def try_to_save(self) -> None:
        """Store what was charged; if the database refuses it now, the next call stores it."""
        with suppress(NoughtsError):
            await self.save()

    async def save(self) -> None:
        """Store what was charged, and read what all have used. Raises NoughtsError, and the next call stores it."""
        async with self._saving:  # another call's charge would be missing from what is read
            day = self._store.now_ms() // _DAY_MS
            charged = self._unsaved
            self._unsaved = Counter()
            try:
                if charged.total():
                    await self._store.write(partial(add_processor_time, day=day, used=charged))
                self._used = await self._store.read(partial(processor_time, day=day)) + self._unsaved
            except BaseException:
                self._unsaved += charged
                raise
