"""The nodes from which messages came over the bus, until they have been silent for longer than their silence limit."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from noughts_server.store.engine.schema import SILENCE_MS
from noughts_server.store.nodes import BEAT_SECONDS

_MOST_SILENT = 1_000

Limit = Callable[[str], float]
"""Returns the silence limit of a node, by name, in seconds."""


def usual_limit(node: str) -> float:
    """Return the limit for nodes that have not reported another one, in seconds."""
    return SILENCE_MS / 1000


class Silence:
    """The silence of each node in seconds.

    If this node itself was suspended, at most two intervals count, because messages of other nodes wait to be read.
    """

    def __init__(self, limit: Limit = usual_limit) -> None:
        self._limit = limit
        self._seconds: dict[str, float] = {}
        self._silent: deque[str] = deque(maxlen=_MOST_SILENT)
        """The newest `_MOST_SILENT` nodes that exceeded their limit and have sent no message since."""

    def __iter__(self) -> Iterator[str]:
        """Iterate over the nodes that count as live."""
        return iter(self._seconds)

    def record_message(self, node: str) -> bool:
        """Reset the silence of a node that has sent a message. Return whether it counted as silent before."""
        self._seconds[node] = 0.0
        was_silent = node in self._silent
        if was_silent:
            self._silent.remove(node)
        return was_silent

    def forget(self, node: str) -> None:
        """Stop counting for a node that has left."""
        self._seconds.pop(node, None)

    async def watch(self, on_silence: Callable[[str], None]) -> None:
        """Call `on_silence` for each node whose limit has passed, until cancelled."""
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            now = loop.time()
            self.count(now - before, on_silence)
            before = now

    def count(self, seconds: float, on_silence: Callable[[str], None]) -> None:
        """Count an interval; call `on_silence` for each node whose limit has passed."""
        for node in list(self._seconds):
            self._seconds[node] += min(seconds, 2 * BEAT_SECONDS)
            if self._seconds[node] > self._limit(node):
                self.forget(node)
                self._silent.append(node)
                on_silence(node)
