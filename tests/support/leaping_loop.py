"""An event loop whose time leaps: what a test would sleep for is over at once, while pipes and streams stay real."""

import asyncio

from noughts_referee.clock import MICROSECONDS

_TURNS = 5


class LeapingLoop(asyncio.SelectorEventLoop):
    """Its time runs as everywhere, and further ahead after each leap: timers on the way are due."""

    def __init__(self) -> None:
        super().__init__()
        self._leapt = 0.0

    def time(self) -> float:
        return super().time() + self._leapt

    def leap(self, seconds: float) -> None:
        self._leapt += seconds


async def leap(seconds: float) -> None:
    """Let so many seconds pass. All due callbacks have run, as far as they wait for nothing else."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, LeapingLoop)
    loop.leap(seconds)
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def loop_microseconds() -> int:
    """Return the time of the running loop, in microseconds."""
    return round(asyncio.get_running_loop().time() * MICROSECONDS)
