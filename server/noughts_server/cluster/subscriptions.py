"""Games of a referee that servers want to watch."""

import asyncio

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_server.cluster.codecs import WANTS
from noughts_server.feed.observer import PLAYED, FeedObserver, GameEvent, SlotKey
from noughts_server.runtime.bus import Bus, listening

_SILENT_SECONDS = 5.0


class Subscriptions:
    """Has the observer look at what any server wants."""

    def __init__(self, observer: FeedObserver, bus: Bus) -> None:
        self._observer = observer
        self._bus = bus
        self._wanted: dict[str, set[SlotKey]] = {}
        self._heard: dict[str, float] = {}

    async def run(self) -> None:
        """Listens until it is cancelled."""
        with listening(self._bus, WANTS, self._hear):
            while True:
                await asyncio.sleep(_SILENT_SECONDS / 4)
                now = asyncio.get_running_loop().time()
                for server, heard in list(self._heard.items()):
                    if now - heard > _SILENT_SECONDS:
                        del self._heard[server]
                        for slot in self._wanted.pop(server):
                            self._observer.unwant(slot)

    def _hear(self, message: pb.FeedWants) -> None:
        self._heard[message.server] = asyncio.get_running_loop().time()
        wanted = list(map(SlotKey, message.tournament, message.ordinal))
        before = self._wanted.get(message.server, set())
        self._wanted[message.server] = now = set(wanted)
        for slot in now - before:
            self._observer.want(slot)
        for slot in before - now:
            self._observer.unwant(slot)
        for row in message.unknown:
            game = self._observer.snapshot(wanted[row])
            if game is not None:
                self._bus.publish(PLAYED, GameEvent(wanted[row], game))
