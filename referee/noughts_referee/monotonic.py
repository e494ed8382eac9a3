"""The time in microseconds, on a clock that never jumps."""

import time
from collections.abc import Callable

Now = Callable[[], int]
"""A function that returns the time in microseconds. A caller that passes another one than `microseconds`, as tests do,
must run an event loop with the same clock, because timers belong to the loop."""


def microseconds() -> int:
    """Return the current time. The event loop's own clock can be as coarse as a millisecond."""
    return time.monotonic_ns() // 1000
