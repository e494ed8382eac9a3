"""Work of several steps that always completes, even if its caller is cancelled.

A caller that hangs up, or whose deadline passes, cancels the call. The store writes the finished steps anyway; without
the rest, a tournament could be running that nobody plays.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog

from noughts_server.errors import Draining, NoughtsError

logger = structlog.get_logger("noughts.calls")

Done = TypeVar("Done")


class UncancelledWork:
    """Owns such work: it ends with the group of tasks that `open` is handed, or is cancelled by `close`."""

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._running: set[asyncio.Task[None]] = set()

    def open(self, group: asyncio.TaskGroup) -> None:
        """Takes work from now on."""
        self._group = group

    def close(self) -> None:
        """Takes no more, and cancels what is running: the server goes down, and finds it in the store later."""
        self._group = None
        for task in self._running:
            task.cancel()

    async def run(self, work: Callable[[], Awaitable[Done]]) -> Done:
        """What `work` returns or raises; cancelled, the caller leaves at once and `work` continues to its end.

        Raises Draining unless open.
        """
        if self._group is None:
            raise Draining()
        outcome: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        task = self._group.create_task(_settle(work, outcome))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda _: None if outcome.done() else outcome.set_exception(Draining()))
        return await outcome


async def _settle(work: Callable[[], Awaitable[Any]], outcome: asyncio.Future[Any]) -> None:
    """Never raises what `work` does: that would end the group."""
    try:
        result = await work()
    except Exception as error:
        if not outcome.cancelled():
            outcome.set_exception(error)
        elif not isinstance(error, NoughtsError):
            logger.exception("unexpected_error")
    else:
        if not outcome.cancelled():
            outcome.set_result(result)
