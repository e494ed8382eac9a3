"""Messages between the parts of a server that do not know each other: publish and subscribe, in memory.

Subjects are dotted names. The publisher's call delivers a message to every subscriber, in the order of subscription.
Subscribers share the message, so they must not change it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

Handler = Callable[[Any], None]


class Bus(Protocol):
    """The interface of a bus."""

    @property
    def connected(self) -> bool:
        """Whether this process is connected to the other processes, as far as it knows."""

    def publish(self, subject: str, message: Any) -> None:
        """Deliver the message to all present subscribers."""

    def subscribe(self, subject: str, handler: Handler) -> Callable[[], None]:
        """Call the handler with each message until the returned function is called. Handlers must not block."""


class MemoryBus:
    """The bus of a server that is one process. Handlers run in the publisher's call."""

    connected = True

    def __init__(self) -> None:
        self._handlers: defaultdict[str, list[Handler]] = defaultdict(list)

    def publish(self, subject: str, message: Any) -> None:
        for handler in tuple(self._handlers.get(subject, ())):
            handler(message)

    def subscribe(self, subject: str, handler: Handler) -> Callable[[], None]:
        self._handlers[subject].append(handler)

        def close() -> None:
            if handler in self._handlers[subject]:
                self._handlers[subject].remove(handler)

        return close


@contextmanager
def listening(bus: Bus, subject: str, handler: Handler) -> Iterator[None]:
    """Subscribe inside the `with` block."""
    unsubscribe = bus.subscribe(subject, handler)
    try:
        yield
    finally:
        unsubscribe()
