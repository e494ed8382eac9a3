"""Runs a coroutine in an event loop of uvloop if that is installed, otherwise of asyncio."""

import asyncio
import gc
import os
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

Returned = TypeVar("Returned")


def run_loop(main: Coroutine[Any, Any, Returned]) -> Returned:
    """Do the same as `asyncio.run`, with uvloop if it is installed."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(main)
    _keep_garbage_at_forks()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


@cache
def _keep_garbage_at_forks() -> None:
    """Keep a forked child from collecting the garbage of its parent.

    uvloop forks to start a process, and waits until the child runs its program. Before the child does so, Python
    allocates objects in it, which can start a collection of garbage. gRPC's objects would then wait forever for a
    thread that exists only in the parent.
    """

    def in_child() -> None:
        gc.freeze()
        gc.enable()

    os.register_at_fork(before=gc.disable, after_in_parent=gc.enable, after_in_child=in_child)
