"""Ctrl-C, SIGTERM and the closing of a terminal, for commands that run until they are stopped."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from noughts_bots.connection import event_loop
from noughts_server.cli import interrupts
from noughts_server.cli.options.output import OutputOptions

Returned = TypeVar("Returned")


def run_loop(main: Coroutine[Any, Any, Returned]) -> Returned:
    """As `event_loop.run_loop`. The first Ctrl-C cancels `main` and raises KeyboardInterrupt, see `interrupts`."""
    if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, interrupts.interrupt):
        return event_loop.run_loop(main)
    interrupted = False

    async def interruptible() -> Returned:
        task = asyncio.current_task()
        assert task is not None

        def stop() -> None:
            nonlocal interrupted
            if interrupts.first():
                interrupted = True
                task.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop)
        return await main

    before = signal.getsignal(signal.SIGINT)
    try:
        return event_loop.run_loop(interruptible())
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        # A loop that ends leaves Python's own.
        signal.signal(signal.SIGINT, before)


@contextmanager
def two_stages(finish: Callable[[], None], abort: Callable[[], None]) -> Iterator[None]:
    """Call `finish` at the first Ctrl-C (or SIGTERM), `abort` at each further one. Inside a running event loop.

    A terminal that is closed calls `abort`, because nobody can send a second signal. Under `nohup` it does nothing.
    """
    loop = asyncio.get_running_loop()
    calls = iter([finish])

    def stop() -> None:
        next(calls, abort)()

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGHUP, abort)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
        # Only the cleanup is left.
        loop.add_signal_handler(signal.SIGINT, interrupts.first)


class Stop:
    """Ends a server: a signal asks it to stop, a second one to stop at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._at_once = asyncio.Event()

    def on_signals(self) -> AbstractContextManager[None]:
        """Listen to signals inside the `with` block."""
        return two_stages(self.asked.set, self._abort)

    def _abort(self) -> None:
        self.asked.set()
        self._at_once.set()

    async def drained(self, output: OutputOptions, drain: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Wait for a signal, then drain until that is done or a second signal comes. Return whether it was done."""
        await self.asked.wait()
        output.hint("Stopping after the running games finish; press Ctrl-C again to stop at once.")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(drain()), group.create_task(self._at_once.wait())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        return not self._at_once.is_set()


async def announced(output: OutputOptions, document: dict[str, str], title: str) -> None:
    """Announce a program that runs until a signal, and wait for the signal."""
    stop = Stop()
    with stop.on_signals():
        output.announce(document, title, "Stop: Ctrl-C")
        await stop.asked.wait()


async def until_terminated(work: Coroutine[Any, Any, None]) -> None:
    """Run the work. SIGTERM, with which service managers and containers stop a bot, ends it without an error."""
    task = asyncio.current_task()
    assert task is not None
    terminated = asyncio.Event()

    def stop() -> None:
        terminated.set()
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    try:
        await work
    except asyncio.CancelledError:
        if not terminated.is_set():
            raise
