"""Ctrl-C, SIGTERM and the closing of a terminal, for commands that run until somebody stops them."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def two_stages(finish: Callable[[], None], abort: Callable[[], None]) -> "Iterator[None]":
    """The first Ctrl-C (or SIGTERM) calls `finish`, each further one `abort`. Inside a running event loop.

    A terminal that is closed calls `abort`: nobody is there to ask twice. Under `nohup` it does nothing.
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
        for number in (*signals, signal.SIGHUP):
            loop.remove_signal_handler(number)


async def until_terminated(work: Coroutine[Any, Any, None]) -> None:
    """Does the work; SIGTERM, by which service managers and containers stop a bot, ends it in peace."""
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
