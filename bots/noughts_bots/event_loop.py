"""The event loop: the quickest that is installed."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Returned = TypeVar("Returned")


def run_loop(main: Coroutine[Any, Any, Returned]) -> Returned:
    """As `asyncio.run`, on uvloop where it is installed."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
