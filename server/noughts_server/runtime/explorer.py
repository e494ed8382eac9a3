"""Count stored games for the opening explorer in small steps, so that live games are hardly slowed down."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import structlog

from noughts_server.runtime.endless_work import errors_logged
from noughts_server.store.engine.database import Store
from noughts_server.store.games.explorer import count_some, next_unexplored

logger = structlog.get_logger("noughts.explorer")

_REST_BUSY, _REST_PLAYING, _REST_IDLE = 99, 49, 1
"""The rest after a step, as a multiple of the step: if this process is busy, if games are live, if it is idle."""
_LONGEST_REST, _REST_FAILED = 5.0, 10.0
"""Seconds. The upper limit is for steps that took long because they waited for other writers."""


async def exploring(store: Store, games_in_flight: Callable[[], int], leads: Callable[[], bool]) -> None:
    """Count games until cancelled. Of the servers of a cluster only the one that `leads` does it.

    Tournaments take turns, so that none waits for the end of another.
    """
    busy = True
    turn = 0
    while True:
        began = time.monotonic()
        used = time.process_time()
        pause = _REST_FAILED
        with errors_logged(logger, "explorer_failed"):
            tournament = await store.read(partial(next_unexplored, after=turn)) if leads() else None
            if tournament is not None:
                turn = tournament
                await store.write(partial(count_some, tournament_id=turn))
                rest = (_REST_BUSY if busy else _REST_PLAYING) if games_in_flight() else _REST_IDLE
                pause = min(rest * (time.monotonic() - began), _LONGEST_REST)
            else:
                pause = 1.0
        await asyncio.sleep(pause)
        busy = time.process_time() - used > (time.monotonic() - began) / 2
