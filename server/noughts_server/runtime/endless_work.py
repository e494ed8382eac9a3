"""Work that never ends by itself, and how it waits."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def running(*endless: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs work that never ends by itself inside the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in endless]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def set_within(event: asyncio.Event, seconds: float) -> None:
    """Returns when the event is set, or after so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
