"""Ctrl-C, SIGTERM and the closing of a terminal, for commands that run until they are stopped."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from noughts_bots.connection import event_loop
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.processes import interrupts

Returned = TypeVar("Returned")


def run_loop(main: Coroutine[Any, Any, Returned]) -> Returned:
    """Run `main` on an event loop, and return its result. The first Ctrl-C cancels it and raises KeyboardInterrupt.

    `interrupts` handles further ones. If Ctrl-C is ignored, it stays ignored.
    """
    if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, interrupts.interrupt):
        return event_loop.run_loop(main)
    is_interrupted = False

    async def interruptible() -> Returned:
        task = asyncio.current_task()
        assert task is not None

        def stop() -> None:
            nonlocal is_interrupted
            if interrupts.record():
                is_interrupted = True
                task.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop)
        return await main

    previous_handler = signal.getsignal(signal.SIGINT)
    try:
        return event_loop.run_loop(interruptible())
    except asyncio.CancelledError:
        if is_interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        # At its end, the event loop has set Python's default handler.
        signal.signal(signal.SIGINT, previous_handler)


@contextmanager
def stopping_like_interrupts() -> Iterator[None]:
    """Let SIGTERM and the closing of the terminal act like Ctrl-C inside the block, without an event loop.

    The closing of the terminal has no effect under `nohup`.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    if handlers[signal.SIGHUP] is signal.SIG_IGN:
        del handlers[signal.SIGHUP]
    for number in handlers:
        signal.signal(number, interrupts.interrupt)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def two_stages(finish: Callable[[], None], abort: Callable[[], None]) -> Iterator[None]:
    """Call `finish` at the first Ctrl-C or SIGTERM in the block, `abort` at later ones. Needs a running event loop.

    The closing of the terminal calls `abort`, because the user can no longer send a second signal. It has no effect
    under `nohup`.
    """
    loop = asyncio.get_running_loop()
    is_finishing = False

    def stop() -> None:
        nonlocal is_finishing
        if is_finishing:
            abort()
        else:
            is_finishing = True
            finish()

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
        # From now on Ctrl-C must not interrupt the cleanup.
        loop.add_signal_handler(signal.SIGINT, interrupts.record)


class Stop:
    """The signals of a server: the first one asks it to stop, a second one to stop at once."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self._at_once = asyncio.Event()

    def on_signals(self) -> AbstractContextManager[None]:
        """Listen to signals inside the `with` block."""
        return two_stages(self.requested.set, self._abort)

    def _abort(self) -> None:
        self.requested.set()
        self._at_once.set()

    async def wait_and_drain(self, output: OutputOptions, drain: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Wait for a signal, then drain. Return True if it is drained, False if a second signal arrived before."""
        await self.requested.wait()
        output.hint("Stopping after the running games finish; press Ctrl-C again to stop at once.")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(drain()), group.create_task(self._at_once.wait())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        return not self._at_once.is_set()


async def announce_until_stopped(output: OutputOptions, document: Mapping[str, str | None], title: str) -> None:
    """Announce a program that runs until a signal, and wait for the signal."""
    stop = Stop()
    with stop.on_signals():
        output.announce(document, title, "Stop: Ctrl-C")
        await stop.requested.wait()


async def until_terminated(work: Coroutine[Any, Any, None]) -> None:
    """Run the work. SIGTERM, the signal of service managers and containers, ends it without an error."""
    task = asyncio.current_task()
    assert task is not None
    is_terminated = False

    def stop() -> None:
        nonlocal is_terminated
        is_terminated = True
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    try:
        await work
    except asyncio.CancelledError:
        if not is_terminated:
            raise
