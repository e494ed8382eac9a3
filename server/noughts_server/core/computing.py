"""A thread for long computations. It does one piece of work at a time, and its callers take turns."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from noughts_server.core.turns import Turns

Loaded = TypeVar("Loaded")
Result = TypeVar("Result")

_LONGEST_REST_SECONDS = 10.0
"""Limit of one pause, so that a long computation does not stop for minutes."""
_OPENINGS_REST = 2
"""Seconds of rest for each second of work on openings; see `Computing`."""


class Computing:
    """A thread that works for one caller at a time. Use it from one event loop.

    The waiting caller that has used the least processor time is next. After each piece of work the thread rests for
    `rest` times the processor time of the work, because the games of a server run on the same processor.
    """

    def __init__(self, name: str, rest: float = 0.0, nice: int = 0) -> None:
        """`nice` is added to the nice value of the thread (on Linux, where threads have one of their own)."""
        self._thread = ThreadPoolExecutor(1, name, initializer=partial(_lower_priority, nice))
        self._turns = Turns(1)
        self._rest = rest

    async def run(
        self,
        caller: Hashable,
        work: Callable[[], Result],
        must_rest: Callable[[], bool] = lambda: True,
        names: tuple[Hashable, ...] = (),
    ) -> Result:
        """Call `work` when it is this caller's turn. Return its result or raise its error.

        If the caller is cancelled, the work is still done to its end. After the work, the thread does not rest if
        `must_rest` returns False. `names` are the kinds of the work, as in `Turns.take`: work of a kind that took long
        waits for shorter work of other callers.
        """
        await self._turns.take(caller, names)
        return await self._work(caller, work, must_rest, names)

    async def run_on(
        self, caller: Hashable, load: Callable[[], Awaitable[Loaded]], work: Callable[[Loaded], Result]
    ) -> Result:
        """When it is this caller's turn, call `load`, and `work` with the loaded data. Return the result of `work`.

        A waiting caller therefore keeps no loaded data in memory. Raises the errors of both functions.
        """
        await self._turns.take(caller)
        try:
            loaded = await load()
        except BaseException:
            self._turns.give_back()
            raise
        return await self._work(caller, partial(work, loaded))

    async def _work(
        self,
        caller: Hashable,
        work: Callable[[], Result],
        must_rest: Callable[[], bool] = lambda: True,
        names: tuple[Hashable, ...] = (),
    ) -> Result:
        """Do the work in the thread in this caller's turn, and end the turn after the thread's rest."""
        loop = asyncio.get_running_loop()
        used_seconds = 0.0

        def measure() -> Result:
            nonlocal used_seconds
            began = time.thread_time()
            try:
                return work()
            finally:
                used_seconds = time.thread_time() - began

        def end_turn(future: "asyncio.Future[Result]") -> None:
            future.exception()  # otherwise asyncio reports the error if the caller was cancelled
            self._turns.charge(caller, used_seconds, names)
            rest_seconds = min(self._rest * used_seconds, _LONGEST_REST_SECONDS) if must_rest() else 0
            if rest_seconds:
                loop.call_later(rest_seconds, self._turns.give_back)
            else:
                self._turns.give_back()

        future = loop.run_in_executor(self._thread, measure)
        future.add_done_callback(end_turn)
        return await asyncio.shield(future)


def _lower_priority(nice: int) -> None:
    """Add to the nice value of this thread. Other systems than Linux have only one value for the process."""
    if nice and sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + nice)


_BY_LOOP: "WeakKeyDictionary[asyncio.AbstractEventLoop, Computing]" = WeakKeyDictionary()


async def compute(owner_id: int, work: Callable[[], Result], must_rest: Callable[[], bool] = lambda: True) -> Result:
    """Call `work` in the thread for openings of the running event loop; see `Computing.run`."""
    loop = asyncio.get_running_loop()
    computing = _BY_LOOP.get(loop)
    if computing is None:
        computing = _BY_LOOP[loop] = Computing("openings", _OPENINGS_REST)
    return await computing.run(owner_id, work, must_rest)
