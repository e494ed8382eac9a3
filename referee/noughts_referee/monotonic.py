"""What time it is, for whoever measures: microseconds on a clock that never jumps."""

import time
from collections.abc import Callable

Now = Callable[[], int]
"""Tells the time in microseconds. Timers are the event loop's: who hands in another clock than `microseconds`, as tests
do, runs a loop that goes by it."""


def microseconds() -> int:
    """The time now. Not the event loop's, which may be as coarse as a millisecond."""
    return time.monotonic_ns() // 1000
