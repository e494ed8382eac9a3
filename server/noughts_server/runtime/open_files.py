"""Report when this process can open no more files: without them it accepts no connection, and says so nowhere."""

import asyncio
import errno
import os
from contextlib import suppress

import structlog

from noughts_server.core.errors import MACHINE_TROUBLES

logger = structlog.get_logger("noughts.server")

_SPARE = 16
"""Files that a healthy process can still open."""
_SECONDS = 1.0


async def watching_open_files() -> None:
    """Log the beginning and the end of a lack of files, until it is cancelled."""
    lacking: int | None = None
    while True:
        before, lacking = lacking, files_lacking()
        if lacking is not None and before is None:
            problem, remedy = MACHINE_TROUBLES[lacking]
            logger.error("files_exhausted", problem=problem, hint=remedy)
        elif lacking is None and before is not None:
            logger.info("files_available")
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
