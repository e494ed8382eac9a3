"""Membership of a node in the cluster: it sends a heartbeat once a second and follows those of the others."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import structlog

from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.core.errors import DatabaseUnavailable, Draining
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.machine import host_name
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import SILENCE_MS
from noughts_server.store.nodes import BEAT_SECONDS, Beat, Node, NodeKind, beat, leave, renew

logger = structlog.get_logger("noughts.cluster")


def node_name(kind: NodeKind) -> str:
    """Return a name that is unique for all time: `KIND-HOST-PROCESS-RANDOM`."""
    return f"{kind.name.lower()}-{host_name()}-{os.getpid()}-{secrets.token_hex(3)}"


class Membership:
    """The live nodes, as far as this node knows. While its bus is disconnected, it sends no heartbeats."""

    def __init__(self, store: Store, bus: NatsBus, node: Node) -> None:
        self.node = node
        self.alive: tuple[Node, ...] = (node,)
        """The live nodes, the oldest first. A node that returns after its silence limit is as old as its return."""
        self.on_change: list[Callable[[], None]] = []
        """Called when the set or the order of live nodes has changed."""
        self.on_presumed_dead: list[Callable[[frozenset[tuple[int, int]]], None]] = []
        """Called with the remaining units if this node was silent for so long that others could claim its units."""
        self.on_beat: Callable[[Beat, float], None] = lambda beat, seconds: None
        """Called after each heartbeat but the first, with the seconds that the database took for it."""
        self._store = store
        self._bus = bus
        self._steps_back = False
        self._last: Beat | None = None
        """The answer to the last heartbeat."""

    @property
    def referees(self) -> tuple[str, ...]:
        """The names of the live referees, the oldest first."""
        return tuple(node.name for node in self.alive if node.kind is NodeKind.REFEREE)

    @property
    def first(self) -> bool:
        """Whether this node is the oldest of its kind. The oldest node does the work that only one node must do."""
        oldest = next((node.name for node in self.alive if node.kind is self.node.kind), "")
        return oldest == self.node.name

    def step_back(self) -> None:
        """Become the youngest node with the next heartbeat, so that another node does the work of the oldest one."""
        self._steps_back = True

    def silence_limit(self, node: str) -> float:
        """Return the seconds of silence after which another node counts as dead."""
        return next((live.silence_ms for live in self.alive if live.name == node), SILENCE_MS) / 1000

    @asynccontextmanager
    async def belonging(self) -> AsyncIterator[None]:
        """Be a member of the cluster while the block runs."""
        self._learn(await self._store.write_with_retries(partial(beat, node=self.node, first=True)))
        try:
            async with running(self._beat()):
                yield
        finally:
            with suppress(DatabaseUnavailable, Draining, TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._store.write(lambda connection: leave(connection, self.node.name))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            if self._bus.connected:
                began = time.perf_counter()
                answer = await self._send_heartbeat()
                self.on_beat(answer, time.perf_counter() - began)
                self._learn(answer)

    async def _send_heartbeat(self) -> Beat:
        youngest = self._steps_back
        self._steps_back = False
        if not youngest:
            answer = await self._store.write_beside(partial(renew, node=self.node, previous=self._last))
            if answer is not None:
                return answer
        return await self._store.write_with_retries(partial(beat, node=self.node, youngest=youngest))

    def _learn(self, beat: Beat) -> None:
        if beat.was_dead:
            logger.error("node_presumed_dead", silent_seconds=beat.silent_ms / 1000, units_kept=len(beat.holds))
            for on_presumed_dead in self.on_presumed_dead:
                on_presumed_dead(beat.holds)
        self._last = beat
        if beat.alive is self.alive:
            return
        before = [node.name for node in self.alive]
        self.alive = beat.alive
        now = [node.name for node in beat.alive]
        if before != now:
            for name in sorted(set(now).difference(before)):
                logger.info("node_joined", node=name)
            for name in sorted(set(before).difference(now)):
                logger.warning("node_left", node=name)
            for callback in self.on_change:
                callback()
