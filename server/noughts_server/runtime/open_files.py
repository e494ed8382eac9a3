"""Report when this process can open no more files: it then accepts no connection, and nothing else reports that."""

import asyncio
import errno
import os
import time
from contextlib import suppress

import structlog

from noughts_server.core.errors import MACHINE_TROUBLES

logger = structlog.get_logger("noughts.server")

_SPARE = 16
"""Files that a healthy process can still open."""
_SECONDS = 1.0
_CALM_SECONDS = 5.0
"""Seconds for which there must be enough files before that is logged: connections can use them up at once."""


class OpenFiles:
    """Whether this process lacks files, and the log of when that began and ended."""

    def __init__(self) -> None:
        self._lacked_at: float | None = None

    def are_lacking(self) -> bool:
        """Return whether this process can open few or no more files now."""
        lacking = files_lacking()
        if lacking is not None:
            if self._lacked_at is None:
                problem, remedy = MACHINE_TROUBLES[lacking]
                logger.error("files_exhausted", problem=problem, hint=remedy)
            self._lacked_at = time.monotonic()
        elif self._lacked_at is not None and time.monotonic() - self._lacked_at > _CALM_SECONDS:
            self._lacked_at = None
            logger.info("files_available")
        return lacking is not None

    async def watch(self) -> None:
        """Check each second, until cancelled."""
        while True:
            self.are_lacking()
            await asyncio.sleep(_SECONDS)


def files_lacking() -> int | None:
    """Return the error number if this process cannot open some more files."""
    opened: list[int] = []
    try:
        opened.extend(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(_SPARE))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return error.errno
        raise
    finally:
        for each in opened:
            with suppress(OSError):
                os.close(each)
    return None
