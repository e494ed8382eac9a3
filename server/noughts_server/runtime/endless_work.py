"""Start coroutines that run until cancelled, wait for events with a timeout, and log errors."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from noughts_server.core.errors import NoughtsError


@asynccontextmanager
async def running(*endless: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run the coroutines, which never return, inside the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in endless]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def wait_until_set(event: asyncio.Event, seconds: float) -> None:
    """Return when the event is set, or after this many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


@contextmanager
def logging_errors(logger: Any, event: str) -> Iterator[None]:
    """Log an error of the block as this event, and suppress it, because it must not end the server's games."""
    try:
        yield
    except NoughtsError as error:
        logger.warning(event, reason=error.reason, error=str(error))
    except Exception:
        logger.exception(event)
