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
        """The time that each owner has used today, in milliseconds, by the owner's key."""
        self._unsaved: Counter[int] = Counter()
        """The part of that time that is not stored yet."""
        self._save_lock = asyncio.Lock()

    def check(self, owner: int) -> None:
        """Raise LimitReached if the owner has no processor time left today."""
        used = self._used[owner] // 1000
        self._limits.check("processor_seconds", "seconds of processor time that your bots can use today", used)

    def is_spent(self, owner: int) -> bool:
        return self._used[owner] >= self._limits.processor_seconds * 1000

    def charge(self, owner: int, seconds: float) -> None:
        """Count processor time in seconds; `save` stores it."""
        was_spent = self.is_spent(owner)
        used = max(0, round(1000 * seconds))
        self._used[owner] += used
        self._unsaved[owner] += used
        if self.is_spent(owner) and not was_spent:
            logger.warning("processor_time_used_up", owner=owner)

    @property
    def is_saved(self) -> bool:
        return not self._unsaved.total()

    async def try_to_save(self) -> None:
        """Store the charges. If the database is unavailable, a later call stores them."""
        with suppress(NoughtsError):
            await self.save()

    async def save(self) -> None:
        """Store the charges, and read the sums of all processes.

        After a NoughtsError, the next call stores the charges.
        """
        # Without the lock, a call could read the sums before another one has stored its charges.
        async with self._save_lock:
            day = self._store.now_ms() // _DAY_MS
            if self._unsaved.total() and (error := await self._store_charges(day)) is not None:
                raise error
            self._used = await self._store.read(partial(processor_time, day=day)) + self._unsaved

    async def _store_charges(self, day: int) -> NoughtsError | None:
        """Store the charges; return the error if the database refused them.

        A cancelled call first waits for its transaction, because charges that it commits must not be stored again.
        """
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._write_charges(day))
            try:
                return await asyncio.shield(writing)
            except asyncio.CancelledError:
                await asyncio.wait([writing])
                raise

    async def _write_charges(self, day: int) -> NoughtsError | None:
        charges = self._unsaved
        self._unsaved = Counter()
        try:
            await self._store.write(partial(add_processor_time, day=day, used=charges))
        except NoughtsError as error:
            self._unsaved += charges
            return error
        return None
