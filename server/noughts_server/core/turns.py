"""Turns of callers. The server answers a few calls at a time. The waiting caller that used the least time is next.

The time of a caller includes the expected time of its waiting call, which is the time of the last work of this kind. A
cheap call therefore does not wait for expensive calls of callers that have used no time yet.

A caller with many calls waits, and callers with few calls do not. Groups of callers take turns too: callers without a
token, of which there can be any number, do not delay callers with a token. While callers wait, the threads that answer
them rest between slices of work, because games and their clocks share the interpreter with these threads.
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
"""Processor time after which a thread pauses for others."""
_SHORTEST_REST_SECONDS = 0.00005
"""Long enough that another thread gets the interpreter."""
_SHARE = 0.2
"""The share of one processor core that all threads together use while callers wait."""
_HALF_LIFE_SECONDS = 10.0
"""After this many seconds, half of the time that a caller used is forgotten."""
_REMEMBERED = 10_000
"""Callers whose used time is remembered."""
_REMEMBERED_WORK = 2_000
"""Kinds of work whose last processor time is remembered."""
_UNKNOWN_SECONDS = 0.02
"""The expected processor time of work with a name under which nothing was charged yet."""
_EXPECTED_WEIGHT = 4
"""The factor of the expected time of a call.

Because of it, a caller that recently made some cheap calls precedes new callers with an expensive call.
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
        """Wait for a place and keep it inside the block; see `take`."""
        await self.take(caller, work, group)
        try:
            yield
        finally:
            self.give_back()

    async def take(self, caller: Hashable, work: tuple[Hashable, ...] = (), group: Hashable = None) -> None:
        """Wait for a place, and keep it until `give_back` is called.

        `work` are names of the call's work, the most exact name first. The expected time of the call is the last time
        charged under the first known name. If callers of several groups wait, the groups get places in turn.
        """
        if self._free:
            self._free -= 1
        else:
            await self._wait(caller, work, group)

    def charge(self, caller: Hashable, seconds: float, work: tuple[Hashable, ...] = ()) -> None:
        """Count the processor seconds that a turn of this caller used for this work."""
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
        seconds, charged_at = self._used.get(caller, (0.0, 0.0))
        if not seconds:
            return 0.0
        return float(seconds * 0.5 ** ((self._now() - charged_at) / _HALF_LIFE_SECONDS))

    def _expected(self, work: tuple[Hashable, ...]) -> float:
        past_seconds = (self._work_seconds[name] for name in work if name in self._work_seconds)
        return next(past_seconds, _UNKNOWN_SECONDS if work else 0.0)

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
                self.give_back()  # the call got the place and did not use it
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
        """Give a place to the waiting caller that used least. Then the caller and its group are the last in line."""
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
        # The expected time is computed only now, because other calls can have changed it since the call began to wait.
        def used_with_next(caller: Hashable) -> float:
            return self._used_by(caller) + _EXPECTED_WEIGHT * self._expected(callers[caller][0].work)

        caller = min(callers, key=used_with_next)
        line = callers.pop(caller)
        waiting = line.popleft()
        if line:
            callers[caller] = line
        return waiting


class _Pace(threading.local):
    """The turns that this thread works for, and the thread's processor time at the start of the slice."""

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
