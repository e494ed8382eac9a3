"""Ctrl-C: the first one ends a command in order, those at its heels change nothing, a later one ends it at once.

Python would raise the second one wherever the program is while it puts things in order after the first: in gRPC, whose
words about it help nobody, and whose channel then keeps the process from ending.
"""

import os
import signal
import time
from types import FrameType

from noughts_server.cli.errors import INTERRUPTED

_PATIENCE_SECONDS = 2.0
"""Two Ctrl-C within this time count as one."""

_since: float | None = None


def install() -> None:
    """Handles Ctrl-C so from now on; not where it is ignored, as in the background of some shells."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def interrupt(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Raises KeyboardInterrupt the first time; `again` after that."""
    if first():
        raise KeyboardInterrupt


def first() -> bool:
    """Notes a Ctrl-C; whether it is the first one. Does what `again` does if not."""
    global _since
    if _since is not None:
        again()
        return False
    _since = time.monotonic()
    return True


def again() -> None:
    """A further Ctrl-C: ends the process, unless it comes at the heels of the first one."""
    if _since is not None and time.monotonic() - _since > _PATIENCE_SECONDS:
        # A display that is left like this has hidden the cursor.
        if os.isatty(1):
            os.write(1, b"\x1b[?25h")
        os._exit(INTERRUPTED)
