"""An event loop whose time a test moves forward, so that timers are due at once; pipes and streams stay real."""

import asyncio

from noughts_referee.clock import MICROSECONDS

_TURNS = 5


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is the usual one plus the seconds of all leaps."""

    def __init__(self) -> None:
        super().__init__()
        self._leapt = 0.0

    def time(self) -> float:
        return super().time() + self._leapt

    def leap(self, seconds: float) -> None:
        self._leapt += seconds


async def leap(seconds: float) -> None:
    """Move the loop's time forward by these seconds, and give due callbacks five turns of the loop to run."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, LeapingLoop)
    loop.leap(seconds)
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def loop_microseconds() -> int:
    """Return the time of the running loop, in microseconds."""
    return round(asyncio.get_running_loop().time() * MICROSECONDS)
