"""Nodes that were heard on the bus, until they have been silent for longer than their silence limit."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from noughts_server.cluster.heartbeats import BEAT_SECONDS
from noughts_server.store.engine.schema import SILENCE_MS

_MOST_GONE = 1_000

Limit = Callable[[str], float]
"""Returns the silence limit of a node, by name, in seconds."""


def usual_limit(node: str) -> float:
    """Return the silence limit of a node without delays."""
    return SILENCE_MS / 1000


class Silence:
    """The silence of each node, counted while this node received messages.

    A delay of this node counts as one interval, however long it was: the messages of the others are waiting to be read.
    """

    def __init__(self, limit: Limit = usual_limit) -> None:
        self._limit = limit
        self._seconds: dict[str, float] = {}
        self._gone: deque[str] = deque(maxlen=_MOST_GONE)
        """Nodes whose limit has passed."""

    def __iter__(self) -> Iterator[str]:
        """Iterate over the nodes that count as live."""
        return iter(self._seconds)

    def heard(self, node: str) -> bool:
        """Count from 0 for this node. Return whether it returns after its limit had passed."""
        self._seconds[node] = 0.0
        returns = node in self._gone
        if returns:
            self._gone.remove(node)
        return returns

    def forget(self, node: str) -> None:
        """Stop counting for a node that has left."""
        self._seconds.pop(node, None)

    async def watch(self, gone: Callable[[str], None]) -> None:
        """Call `gone` for each node whose limit has passed, until cancelled."""
        clock = asyncio.get_running_loop().time
        before = clock()
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            now = clock()
            self.count(now - before, gone)
            before = now

    def count(self, seconds: float, gone: Callable[[str], None]) -> None:
        """Count an interval; call `gone` for each node whose limit has passed."""
        for node in list(self._seconds):
            self._seconds[node] += min(seconds, 2 * BEAT_SECONDS)
            if self._seconds[node] > self._limit(node):
                self.forget(node)
                self._gone.append(node)
                gone(node)
