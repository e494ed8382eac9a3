"""The log of bus messages that are dropped. It is limited, because any client of the bus can send many wrong ones."""

import time
from collections.abc import Callable
from typing import Any

import structlog

logger = structlog.get_logger("noughts.bus")

_PERIOD_SECONDS = 10.0
"""Seconds between two lines of the log."""


class DroppedMessages:
    """Logs dropped messages: the first one at once, then at most one line in ten seconds, with their number."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._unlogged = 0
        self._logged_at = -_PERIOD_SECONDS

    def add(self, **fields: Any) -> None:
        """Count one more dropped message; `fields` are its origin and the reason."""
        self._unlogged += 1
        if self._clock() - self._logged_at >= _PERIOD_SECONDS:
            logger.error("bus_messages_dropped", messages=self._unlogged, **fields)
            self._unlogged, self._logged_at = 0, self._clock()
