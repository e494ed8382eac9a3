"""What the parts of a server tell each other: one interface, in memory here, over a network in a scaled server.

Subjects are dotted names. A message published is handed to every subscriber at once, in order; a queue hands each
item to one taker. Messages are values, never live objects of the sender: a network may lie between.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

Handler = Callable[[Any], None]


class Bus(Protocol):
    """Publish and subscribe, and queues."""

    def publish(self, subject: str, message: Any) -> None:
        """Hands the message to all who are subscribed now."""

    def subscribe(self, subject: str, handler: Handler) -> "Subscription":
        """Calls the handler with each message until the subscription is closed. Handlers must not block."""

    def put(self, queue: str, item: Any) -> None:
        """Appends an item to a queue."""

    async def take(self, queue: str) -> Any:
        """The next item of a queue; waits for one."""

    def clear(self, queue: str) -> None:
        """Forgets what is in a queue."""


class Subscription:
    """An open subscription; closing it twice does no harm."""

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close

    def close(self) -> None:
        """No further message is delivered."""
        self._close()


class MemoryBus:
    """The bus of a server that is one process. Handlers run in the publisher's call."""

    def __init__(self) -> None:
        self._handlers: defaultdict[str, list[Handler]] = defaultdict(list)
        self._queues: defaultdict[str, asyncio.Queue[Any]] = defaultdict(asyncio.Queue)

    def publish(self, subject: str, message: Any) -> None:
        for handler in tuple(self._handlers.get(subject, ())):
            handler(message)

    def subscribe(self, subject: str, handler: Handler) -> Subscription:
        self._handlers[subject].append(handler)

        def close() -> None:
            if handler in self._handlers[subject]:
                self._handlers[subject].remove(handler)

        return Subscription(close)

    def put(self, queue: str, item: Any) -> None:
        self._queues[queue].put_nowait(item)

    async def take(self, queue: str) -> Any:
        return await self._queues[queue].get()

    def clear(self, queue: str) -> None:
        self._queues.pop(queue, None)


@contextmanager
def listening(bus: Bus, subject: str, handler: Handler) -> Iterator[None]:
    """Subscribed inside the `with` block."""
    subscription = bus.subscribe(subject, handler)
    try:
        yield
    finally:
        subscription.close()
