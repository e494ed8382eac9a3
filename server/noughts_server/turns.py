"""Turns of callers: a few calls are answered at a time, and callers that wait take turns.

A caller that asks for much waits for its own earlier calls, and no other caller does. While callers wait, the threads
that answer them rest between slices of work: games and their clocks share the interpreter with these threads.
"""

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager

_SLICE_SECONDS = 0.001
_SHORTEST_REST_SECONDS = 0.00005
_SHARE = 0.2
"""The share of one processor core that all threads together use while callers wait."""


class Turns:
    """The turns of all callers. Use it from one event loop; threads only read `busy`."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._free = places
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        """The calls that wait, by caller. The next turn is that of the first caller."""

    @property
    def busy(self) -> bool:
        """Whether calls wait."""
        return bool(self._waiting)

    @asynccontextmanager
    async def turn(self, caller: Hashable) -> AsyncIterator[None]:
        """Wait for a place, and keep it inside the block."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, caller: Hashable) -> None:
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.cancelled():
                self._leave(caller, granted)
            else:
                self._pass_on()  # it got the place and did not use it
            raise

    def _leave(self, caller: Hashable, granted: "asyncio.Future[None]") -> None:
        line = self._waiting.get(caller)
        if line is not None and granted in line:
            line.remove(granted)
            if not line:
                del self._waiting[caller]

    def _pass_on(self) -> None:
        """Give the place to the next caller, who then is the last in line."""
        while self._waiting:
            caller, line = self._waiting.popitem(last=False)
            granted = line.popleft()
            if line:
                self._waiting[caller] = line
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1


class _Pace(threading.local):
    turns: Turns | None = None
    began = 0.0


_PACE = _Pace()


@contextmanager
def working(turns: Turns) -> Iterator[None]:
    """Let `give_way` rest in this thread inside the block."""
    _PACE.turns, _PACE.began = turns, time.thread_time()
    try:
        yield
        _rest(turns)
    finally:
        _PACE.turns = None


def give_way() -> None:
    """Rest if this thread answers a caller, has used a slice of time, and others wait. Call it once for each row."""
    turns = _PACE.turns
    if turns is not None and time.thread_time() - _PACE.began >= _SLICE_SECONDS:
        _rest(turns)


def _rest(turns: Turns) -> None:
    used = time.thread_time() - _PACE.began
    # Even a short sleep lets the event loop run, which otherwise waits for the interpreter's lock for up to 5 ms.
    time.sleep(max(_SHORTEST_REST_SECONDS, used * (turns.places / _SHARE - 1) if turns.busy else 0))
    _PACE.began = time.thread_time()
