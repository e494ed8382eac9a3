"""Turns of callers: a few calls are answered at a time, and of the callers that wait, the one that used least is next.

What a caller used includes what its waiting call is expected to use: what the last work of this kind used. So a cheap
call does not wait for expensive ones of callers that have used nothing yet.

So a caller that asks for much waits, and others do not, even if it has many addresses: a new caller has used nothing.
Groups of callers take turns too: those without a token, who can be as many as they like, do not delay those with one.
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
_REMEMBERED_WORK = 2_000
"""Kinds of work whose last processor time is remembered."""
_UNKNOWN_SECONDS = 0.02
"""What work with a name is expected to use if nothing was charged under it yet."""
_EXPECTED_WEIGHT = 4
"""Each second that a call is expected to use counts so often.

A caller that lately made some cheap calls goes before new callers with an expensive one.
"""

WAITING: ContextVar[Callable[[], AbstractAsyncContextManager[None]]] = ContextVar("waiting", default=nullcontext)
"""Returns the context in which a call of this task waits for its turn."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A call that waits for its turn."""

    granted: "asyncio.Future[None]"
    work: tuple[Hashable, ...]


_Group = OrderedDict[Hashable, deque[_Waiting]]
"""The calls that wait, by caller. Among callers that used as much, the first has the next turn."""


class Turns:
    """The turns of all callers. Use it from one event loop; threads only read `busy`."""

    def __init__(self, places: int, now: Callable[[], float] = time.monotonic) -> None:
        """`now` is a monotonic clock in seconds."""
        self.places = places
        self._free = places
        self._now = now
        self._waiting: OrderedDict[Hashable, _Group] = OrderedDict()
        """The groups with calls that wait. The first has the next turn."""
        self._used: dict[Hashable, tuple[float, float]] = {}
        """The seconds that each caller had used, and when; the callers that were charged last are at the end."""
        self._work_seconds: dict[Hashable, float] = {}
        """The processor time of the last work of each name; the newest are at the end."""

    @property
    def busy(self) -> bool:
        """Whether calls wait."""
        return bool(self._waiting)

    @asynccontextmanager
    async def turn(
        self, caller: Hashable, work: tuple[Hashable, ...] = (), group: Hashable = None
    ) -> AsyncIterator[None]:
        """Wait for a place, and keep it inside the block; see `take`."""
        await self.take(caller, work, group)
        try:
            yield
        finally:
            self.give_back()

    async def take(self, caller: Hashable, work: tuple[Hashable, ...] = (), group: Hashable = None) -> None:
        """Wait for a place, and keep it until `give_back` is called.

        `work` are names of what the call does, the most exact first. It is expected to use what the last work used that
        was charged under one of them. If callers of several groups wait, the groups get one place after the other.
        """
        if self._free:
            self._free -= 1
        else:
            await self._wait(caller, work, group)

    def charge(self, caller: Hashable, seconds: float, work: tuple[Hashable, ...] = ()) -> None:
        """Count what a turn of this caller used for this work."""
        used = self._used_by(caller) + seconds
        self._used.pop(caller, None)
        self._used[caller] = used, self._now()
        if len(self._used) > _REMEMBERED:
            del self._used[next(iter(self._used))]
        for name in work:
            self._work_seconds.pop(name, None)
            self._work_seconds[name] = seconds
        while len(self._work_seconds) > _REMEMBERED_WORK:
            del self._work_seconds[next(iter(self._work_seconds))]

    def _used_by(self, caller: Hashable) -> float:
        seconds, then = self._used.get(caller, (0.0, 0.0))
        return seconds and float(seconds * 0.5 ** ((self._now() - then) / _HALF_LIFE_SECONDS))

    def _expected(self, work: tuple[Hashable, ...]) -> float:
        known = (self._work_seconds[name] for name in work if name in self._work_seconds)
        return next(known, _UNKNOWN_SECONDS if work else 0.0)

    async def _wait(self, caller: Hashable, work: tuple[Hashable, ...], group: Hashable) -> None:
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(granted, work)
        self._waiting.setdefault(group, OrderedDict()).setdefault(caller, deque()).append(waiting)
        try:
            async with WAITING.get()():
                await granted
        except asyncio.CancelledError:
            if granted.cancelled():
                self._leave(caller, group, waiting)
            else:
                self.give_back()  # it got the place and did not use it
            raise

    def _leave(self, caller: Hashable, group: Hashable, waiting: "_Waiting") -> None:
        callers = self._waiting.get(group, OrderedDict())
        line = callers.get(caller)
        if line is not None and waiting in line:
            line.remove(waiting)
            if not line:
                del callers[caller]
            if not callers:
                del self._waiting[group]

    def give_back(self) -> None:
        """Give a place to the waiting caller that used least, which then is the last in line, as is its group."""
        while self._waiting:
            group, callers = self._waiting.popitem(last=False)
            granted = self._next(callers).granted
            if callers:
                self._waiting[group] = callers
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1

    def _next(self, callers: _Group) -> _Waiting:
        # Others' work can show what a call will use after it has begun to wait.
        def used_with_next(caller: Hashable) -> float:
            return self._used_by(caller) + _EXPECTED_WEIGHT * self._expected(callers[caller][0].work)

        caller = min(callers, key=used_with_next)
        line = callers.pop(caller)
        waiting = line.popleft()
        if line:
            callers[caller] = line
        return waiting


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
