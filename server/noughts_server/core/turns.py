"""Turns of callers: a few calls are answered at a time, and of the callers that wait, the one that used least is next.

What a caller used includes what its waiting call is expected to use. So a cheap call does not wait for expensive ones
of callers that have used nothing yet.

So a caller that asks for much waits, and others do not, even if it has many addresses: a new caller has used nothing.
While callers wait, the threads that answer them rest between slices of work: games and their clocks share the
interpreter with these threads.
"""

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

_SLICE_SECONDS = 0.001
_SHORTEST_REST_SECONDS = 0.00005
_SHARE = 0.2
"""The share of one processor core that all threads together use while callers wait."""
_HALF_LIFE_SECONDS = 10.0
"""After so many seconds, half of what a caller used is forgotten."""
_REMEMBERED = 10_000
"""Callers whose use is remembered."""


WAITING: ContextVar[Callable[[], AbstractAsyncContextManager[None]]] = ContextVar("waiting", default=nullcontext)
"""Returns the context in which a call of this task waits for its turn."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A call that waits for its turn."""

    granted: "asyncio.Future[None]"
    expected_seconds: float


class Turns:
    """The turns of all callers. Use it from one event loop; threads only read `busy`."""

    def __init__(self, places: int, now: Callable[[], float] = time.monotonic) -> None:
        """`now` is a monotonic clock in seconds."""
        self.places = places
        self._free = places
        self._now = now
        self._waiting: OrderedDict[Hashable, deque[_Waiting]] = OrderedDict()
        """The calls that wait, by caller. Among callers that used as much, the first has the next turn."""
        self._used: dict[Hashable, tuple[float, float]] = {}
        """The seconds that each caller had used, and when; the callers that were charged last are at the end."""

    @property
    def busy(self) -> bool:
        """Whether calls wait."""
        return bool(self._waiting)

    @asynccontextmanager
    async def turn(self, caller: Hashable, expected_seconds: float = 0.0) -> AsyncIterator[None]:
        """Wait for a place, and keep it inside the block. The call is expected to use so many seconds."""
        await self.take(caller, expected_seconds)
        try:
            yield
        finally:
            self.give_back()

    async def take(self, caller: Hashable, expected_seconds: float = 0.0) -> None:
        """Wait for a place, and keep it until `give_back` is called."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(caller, expected_seconds)

    def charge(self, caller: Hashable, seconds: float) -> None:
        """Count what a turn of this caller used."""
        used = self._used_by(caller) + seconds
        self._used.pop(caller, None)
        self._used[caller] = used, self._now()
        if len(self._used) > _REMEMBERED:
            del self._used[next(iter(self._used))]

    def _used_by(self, caller: Hashable) -> float:
        seconds, then = self._used.get(caller, (0.0, 0.0))
        return seconds and float(seconds * 0.5 ** ((self._now() - then) / _HALF_LIFE_SECONDS))

    def _used_with_next(self, caller: Hashable) -> float:
        return self._used_by(caller) + self._waiting[caller][0].expected_seconds

    async def _wait(self, caller: Hashable, expected_seconds: float) -> None:
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(granted, expected_seconds)
        self._waiting.setdefault(caller, deque()).append(waiting)
        try:
            async with WAITING.get()():
                await granted
        except asyncio.CancelledError:
            if granted.cancelled():
                self._leave(caller, waiting)
            else:
                self.give_back()  # it got the place and did not use it
            raise

    def _leave(self, caller: Hashable, waiting: "_Waiting") -> None:
        line = self._waiting.get(caller)
        if line is not None and waiting in line:
            line.remove(waiting)
            if not line:
                del self._waiting[caller]

    def give_back(self) -> None:
        """Give a place to the waiting caller that used least, which then is the last in line."""
        while self._waiting:
            caller = min(self._waiting, key=self._used_with_next)
            line = self._waiting.pop(caller)
            granted = line.popleft().granted
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
    _PACE.turns = turns
    _PACE.began = time.thread_time()
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
