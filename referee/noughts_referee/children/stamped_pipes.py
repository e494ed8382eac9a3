"""Pipes whose last write has a time, so that a referee that was stalled knows when a child answered.

Linux sets the modification time of a named pipe (FIFO) at each write. Since version 6.15 it does this for no other
pipe. The name is removed at once, so a child notices no difference.
"""

import fcntl
import os
import secrets
import sys
import tempfile
import time
from contextlib import suppress

from noughts_referee.monotonic import Now

_FOLDERS = ("/dev/shm",)  # noqa: S108  # in memory: a file system on a disk would note each time on the disk
_USUAL_BYTES = 1 << 16
"""The usual size of a pipe, if the system does not report it."""
TICK_US = 4_000
"""The kernel's clock for files advances in steps, mostly of 4 ms, so the time of a write can be too early by a step."""


def stamped_pipe() -> tuple[int, int]:
    """Return the reading and the writing end. The pipe is ordinary if the system has no FIFOs. Raises OSError."""
    for folder in (*_FOLDERS, tempfile.gettempdir()):
        with suppress(OSError, NotImplementedError):
            return _fifo(os.path.join(folder, f"noughts-{secrets.token_hex(16)}"))
    return os.pipe()


def _fifo(path: str) -> tuple[int, int]:
    os.mkfifo(path, 0o600)
    try:
        # Without O_NONBLOCK, opening would wait for a writer.
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            writing = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.close(reading)
            raise
    finally:
        os.unlink(path)
    os.set_blocking(reading, True)
    return reading, writing


def last_write(end: int, now: Now) -> int:
    """Return the time of the last write to the pipe, in microseconds of `now`; up to TICK_US too late.

    If the system does not record writes, the result is the time of the pipe's creation.
    """
    age_us = (time.time_ns() - os.fstat(end).st_mtime_ns) // 1000
    return now() - max(0, age_us - TICK_US)


def pipe_bytes(end: int) -> int:
    """Return the capacity of a pipe in bytes; the usual capacity if the system does not report it."""
    if sys.platform != "linux":
        return _USUAL_BYTES
    return fcntl.fcntl(end, fcntl.F_GETPIPE_SZ)
