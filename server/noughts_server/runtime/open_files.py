"""Log when this process can open no more files. It then accepts no connection, and no other part logs that."""

import asyncio
import errno
import os
import time
from contextlib import suppress

import structlog

from noughts_server.core.errors import MACHINE_TROUBLES

logger = structlog.get_logger("noughts.server")

_SPARE = 16
"""A process that can open fewer further files than this lacks files."""
_PERIOD_SECONDS = 1.0
_CALM_SECONDS = 5.0
"""Seconds without a lack of files before its end is logged, because new connections can use up the files again."""


class OpenFiles:
    """Checks whether this process lacks files, and logs when a lack begins and ends."""

    def __init__(self) -> None:
        self._lacked_at: float | None = None

    def are_lacking(self) -> bool:
        """Return whether this process can open fewer than `_SPARE` files now. Log the beginning and end of a lack."""
        error_number = files_lacking()
        if error_number is not None:
            if self._lacked_at is None:
                problem, remedy = MACHINE_TROUBLES[error_number]
                logger.error("files_exhausted", problem=problem, hint=remedy)
            self._lacked_at = time.monotonic()
        elif self._lacked_at is not None and time.monotonic() - self._lacked_at > _CALM_SECONDS:
            self._lacked_at = None
            logger.info("files_available")
        return error_number is not None

    async def watch(self) -> None:
        """Check each second, until cancelled."""
        while True:
            self.are_lacking()
            await asyncio.sleep(_PERIOD_SECONDS)


def files_lacking() -> int | None:
    """Return the error number (EMFILE, ENFILE) if this process cannot open `_SPARE` more files; None if it can."""
    opened: list[int] = []
    try:
        opened.extend(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(_SPARE))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return error.errno
        raise
    finally:
        for descriptor in opened:
            with suppress(OSError):
                os.close(descriptor)
    return None
