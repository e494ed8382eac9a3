"""Ctrl-C: the first one stops a command with its cleanup, those within the next 2 s are ignored, a later one kills it.

Python's own handler would raise a second KeyboardInterrupt during the cleanup after the first one. In gRPC this prints
a useless message, and the channel then prevents the process from ending.
"""

import os
import signal
import time
from types import FrameType

from noughts_server.cli.errors import INTERRUPTED

_REPEAT_SECONDS = 2.0
"""A Ctrl-C within this time after the first one is ignored: impatient users press it several times."""

_first_time: float | None = None


def install() -> None:
    """Handle Ctrl-C from now on, unless it is ignored, as for background processes of some shells."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def interrupt(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Raise KeyboardInterrupt at the first Ctrl-C; handle a later one as `record` does."""
    if record():
        raise KeyboardInterrupt


def record() -> bool:
    """Record a Ctrl-C, and return whether it is the first one.

    A later one ends the process at once, unless it arrives within 2 s after the first one.
    """
    global _first_time
    if _first_time is not None:
        _end_unless_repeated_soon()
        return False
    _first_time = time.monotonic()
    return True


def _end_unless_repeated_soon() -> None:
    if _first_time is not None and time.monotonic() - _first_time > _REPEAT_SECONDS:
        # A progress bar has possibly hidden the cursor: show it again.
        if os.isatty(1):
            os.write(1, b"\x1b[?25h")
        os._exit(INTERRUPTED)
