"""Count stored games for the opening explorer in small steps, so that live games are hardly slowed down."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import structlog

from noughts_server.runtime.endless_work import logging_errors
from noughts_server.store.engine.database import Store
from noughts_server.store.games.explorer import count_some, next_unexplored

logger = structlog.get_logger("noughts.explorer")

# The pause after a step as a multiple of its duration: if games keep the process busy, if games run, if none runs.
_BUSY_RATIO = 99
_PLAYING_RATIO = 49
_IDLE_RATIO = 1
_LONGEST_PAUSE_SECONDS = 5.0
"""The limit of a pause, because a step can take long if it waits for other writers."""
_FAILURE_PAUSE_SECONDS = 10.0
"""The pause after an error, so that it does not fill the log."""
_NOTHING_PAUSE_SECONDS = 1.0
"""The pause if there is nothing to count, or another server does it."""


async def exploring(store: Store, count_running: Callable[[], int], leads: Callable[[], bool]) -> None:
    """Count games until cancelled. Of the servers of a cluster only the one that `leads` does it.

    Tournaments take turns, so that none waits until another is counted completely.
    """
    is_busy = True
    turn = 0
    while True:
        began = time.monotonic()
        used_before = time.process_time()
        pause = _FAILURE_PAUSE_SECONDS
        with logging_errors(logger, "explorer_failed"):
            tournament = await store.read(partial(next_unexplored, after=turn)) if leads() else None
            if tournament is not None:
                turn = tournament
                await store.write(partial(count_some, tournament_id=turn))
                ratio = _IDLE_RATIO
                if count_running():
                    ratio = _BUSY_RATIO if is_busy else _PLAYING_RATIO
                pause = min(ratio * (time.monotonic() - began), _LONGEST_PAUSE_SECONDS)
            else:
                pause = _NOTHING_PAUSE_SECONDS
        await asyncio.sleep(pause)
        # The process is busy if it used more than half of a processor's time.
        is_busy = time.process_time() - used_before > (time.monotonic() - began) / 2
