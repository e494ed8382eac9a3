"""Work that computes for long: one piece at a time in a thread of its own, in the turns of its callers."""

import asyncio
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
_OPENINGS_REST = 2


class Computing:
    """A thread that works for one caller at a time. Use it from one event loop.

    Of the callers that wait, the one that used least is next. After each piece of work the thread rests for `rest`
    times the processor time of the work, because the games of a server run on the same processor.
    """

    def __init__(self, name: str, rest: float = 0.0) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._turns = Turns(1)
        self._rest = rest

    async def run(
        self,
        caller: Hashable,
        work: Callable[[], Result],
        disturbs: Callable[[], bool] = lambda: True,
        names: tuple[Hashable, ...] = (),
    ) -> Result:
        """Return or raise what `work` does, when it is this caller's turn. If it is cancelled, the work is finished.

        The thread does not rest if `disturbs` says, after the work, that it slows nobody down. Work that is expected to
        take long, by its `names`, waits for that of others which is not; see `Turns.take`.
        """
        await self._turns.take(caller, names)
        return await self._work(caller, work, disturbs, names)

    async def run_on(
        self, caller: Hashable, load: Callable[[], Awaitable[Loaded]], work: Callable[[Loaded], Result]
    ) -> Result:
        """Return or raise what `work` does with what `load` returns, both when it is this caller's turn.

        So a caller that waits holds nothing that must be loaded.
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
        disturbs: Callable[[], bool] = lambda: True,
        names: tuple[Hashable, ...] = (),
    ) -> Result:
        loop = asyncio.get_running_loop()
        used = 0.0

        def measured() -> Result:
            nonlocal used
            began = time.thread_time()
            try:
                return work()
            finally:
                used = time.thread_time() - began

        def ended(done: "asyncio.Future[Result]") -> None:
            done.exception()  # so that asyncio does not report it if the caller has left
            self._turns.charge(caller, used, names)
            rest = min(self._rest * used, _LONGEST_REST_SECONDS) if disturbs() else 0
            if rest:
                loop.call_later(rest, self._turns.give_back)
            else:
                self._turns.give_back()

        working = loop.run_in_executor(self._thread, measured)
        working.add_done_callback(ended)
        return await asyncio.shield(working)


_OF_LOOPS: "WeakKeyDictionary[asyncio.AbstractEventLoop, Computing]" = WeakKeyDictionary()


async def compute(owner_id: int, work: Callable[[], Result], disturbs: Callable[[], bool] = lambda: True) -> Result:
    """Return or raise what `work` does in the thread for openings of the running event loop; see `Computing.run`."""
    loop = asyncio.get_running_loop()
    computing = _OF_LOOPS.get(loop)
    if computing is None:
        computing = _OF_LOOPS[loop] = Computing("openings", _OPENINGS_REST)
    return await computing.run(owner_id, work, disturbs)
