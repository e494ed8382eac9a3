"""Counts stored games for the opening explorer, a few at a time, so that live games hardly notice."""

import asyncio
import time
from collections.abc import Callable

import structlog

from noughts_server.runtime.endless_work import errors_logged
from noughts_server.store.engine.database import Store
from noughts_server.store.games.explorer import count_some, unexplored

logger = structlog.get_logger("noughts.explorer")

_REST_BUSY, _REST_PLAYING, _REST_IDLE = 99, 49, 1
"""The rest after a step, by its time: if this process uses half a processor, if games are live, without any."""
_LONGEST_REST, _REST_FAILED = 5.0, 10.0
"""Seconds. A step can take long because it waits for others that write."""


async def exploring(store: Store, games_in_flight: Callable[[], int], leads: Callable[[], bool]) -> None:
    """Count games until cancelled. Of the servers of a cluster only the one that `leads` does it."""
    busy = True
    while True:
        began, used, pause = time.monotonic(), time.process_time(), _REST_FAILED
        with errors_logged(logger, "explorer_failed"):
            if leads() and await store.read(unexplored) > 0:
                await store.write(count_some)
                rest = (_REST_BUSY if busy else _REST_PLAYING) if games_in_flight() else _REST_IDLE
                pause = min(rest * (time.monotonic() - began), _LONGEST_REST)
            else:
                pause = 1.0
        await asyncio.sleep(pause)
        busy = time.process_time() - used > (time.monotonic() - began) / 2
