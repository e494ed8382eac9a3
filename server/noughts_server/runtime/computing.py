"""Work that computes for long for an owner: one piece at a time in a thread of its own, and the owners by turns."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakKeyDictionary

Result = TypeVar("Result")

_RESTS, _LONGEST_REST_SECONDS = 2, 10.0
_OF_LOOPS: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Computer]" = WeakKeyDictionary()


async def compute(owner_id: int, work: Callable[[], Result], disturbs: Callable[[], bool] = lambda: True) -> Result:
    """Return or raise what `work` does in the thread of the running event loop, when it is this owner's turn.

    If `disturbs` says after the work that it slows others down, the thread then rests for twice as long as the work
    took: Python runs one thread at a time, and the others run games. If the caller is cancelled, work that has begun is
    finished first.
    """
    loop = asyncio.get_running_loop()
    computer = _OF_LOOPS.get(loop)
    if computer is None:
        computer = _OF_LOOPS[loop] = _Computer()
    return await computer.run(owner_id, work, disturbs)


class _Computer:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="computing")
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}
        """By owner; the owner that waits longest since its last turn is first."""
        self._is_free = True

    async def run(self, owner_id: int, work: Callable[[], Result], disturbs: Callable[[], bool]) -> Result:
        await self._turn(owner_id)
        loop, began = asyncio.get_running_loop(), time.monotonic()
        working = loop.run_in_executor(self._thread, work)

        def ended(done: "asyncio.Future[Result]") -> None:
            done.exception()  # so that asyncio does not report it if the caller has left
            rest = _RESTS * (time.monotonic() - began) if disturbs() else 0.0
            loop.call_later(min(rest, _LONGEST_REST_SECONDS), self._next)

        working.add_done_callback(ended)
        return await asyncio.shield(working)

    async def _turn(self, owner_id: int) -> None:
        if self._is_free:
            self._is_free = False
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner_id, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._next()
            raise

    def _next(self) -> None:
        """Give the turn to the next owner that waits."""
        while self._waiting:
            owner_id = next(iter(self._waiting))
            turns = self._waiting.pop(owner_id)
            turn = turns.popleft()
            if turns:
                self._waiting[owner_id] = turns  # behind the other owners
            if not turn.done():
                turn.set_result(None)
                return
        self._is_free = True
