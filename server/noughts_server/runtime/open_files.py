"""Log when this process can open no more files. It then accepts no connection, and no other part logs that."""

import asyncio
import errno
import os
import time
from contextlib import suppress

import structlog

from noughts_server.core.errors import MACHINE_PROBLEMS

logger = structlog.get_logger("noughts.server")

_FEWEST_FREE = 16
"""Files count as exhausted if this process cannot open this number of further ones."""
_PERIOD_SECONDS = 1.0
_CALM_SECONDS = 5.0
"""Seconds for which files must be free before `files_available` is logged. New connections can use them up again."""


class OpenFiles:
    """Checks whether this process can open more files, and logs when it no longer can and when it can again."""

    def __init__(self) -> None:
        self._exhausted_at: float | None = None
        """When a check last found no free files; None if the end is already logged."""

    def are_exhausted(self) -> bool:
        """Return whether this process cannot open `_FEWEST_FREE` more files. Log a change."""
        error_number = error_of_opening()
        if error_number is not None:
            if self._exhausted_at is None:
                problem, remedy = MACHINE_PROBLEMS[error_number]
                logger.error("files_exhausted", problem=problem, hint=remedy)
            self._exhausted_at = time.monotonic()
        elif self._exhausted_at is not None and time.monotonic() - self._exhausted_at > _CALM_SECONDS:
            self._exhausted_at = None
            logger.info("files_available")
        return error_number is not None

    async def watch(self) -> None:
        """Check each second, until cancelled."""
        while True:
            self.are_exhausted()
            await asyncio.sleep(_PERIOD_SECONDS)


def error_of_opening() -> int | None:
    """Return the error number (EMFILE, ENFILE) of opening `_FEWEST_FREE` files now; None if it succeeds."""
    opened: list[int] = []
    try:
        opened.extend(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(_FEWEST_FREE))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return error.errno
        raise
    finally:
        for descriptor in opened:
            with suppress(OSError):
                os.close(descriptor)
    return None
