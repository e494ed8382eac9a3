"""Games that are watched on a server and played by referees elsewhere.

Once a second, and after each change, the server sends the referees the list of watched games; they send the events of
these games. A gap in the numbers of the plies shows that a message was lost: then the server requests the game's state.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from noughts_proto.columns import append_row
from noughts_proto.feed_view import View
from noughts_proto.v1 import cluster_pb2 as pb
from noughts_proto.v1 import feed_pb2
from noughts_server.cluster.codecs import WANTS
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.feed.observer import PLAYED, GameEvent, SlotKey
from noughts_server.runtime.bus import Bus, listening

_PERIOD_SECONDS = 1.0
_AHEAD_SECONDS = 3.0
# Games of a tournament whose state is requested before a watcher chooses among them.
_AHEAD = 8


class RemoteObserver:
    """The counterpart of the `FeedObserver` of a server without a cluster."""

    def __init__(self, desk: RemoteReferee, bus: Bus, server: str) -> None:
        self._desk = desk
        self._bus = bus
        self._server = server
        self._wanted: Counter[SlotKey] = Counter()
        self._view = View()
        """The state of the watched games, as far as this server knows it."""
        self._names: dict[SlotKey, str] = {}
        """The names of the watched games."""
        self._ahead: dict[SlotKey, float] = {}
        """Games that a watcher can choose soon, with the time until which they are followed."""
        self._unknown: set[SlotKey] = set()
        self._telling = False

    def listening(self, handler: Callable[[GameEvent], None]) -> AbstractContextManager[None]:
        """As `Observed.listening`."""

        def hear(played: GameEvent) -> None:
            if self._is_new(played):
                handler(played)

        return listening(self._bus, PLAYED, hear)

    async def run(self) -> None:
        """Send the referees the watched games, until cancelled."""
        while True:
            now = asyncio.get_running_loop().time()
            for slot in [slot for slot, until in self._ahead.items() if until < now]:
                del self._ahead[slot]
                self.unwant(slot)
            self._tell()
            await asyncio.sleep(_PERIOD_SECONDS)

    def resynchronise(self) -> None:
        """Request the state of all games again, because messages were lost."""
        self._unknown.update(self._wanted)
        self._soon()

    def want(self, slot: SlotKey) -> feed_pb2.WatchedGame | None:
        """As `Observed.want`. If nobody watched the game before, its referee learns of it a little later."""
        self._wanted[slot] += 1
        if self._wanted[slot] == 1:
            self._unknown.add(slot)
            self._soon()
            return None
        game = self._game(slot)
        # A copy, because the caller and this object both change their game.
        return game and feed_pb2.WatchedGame.FromString(game.SerializeToString())

    def unwant(self, slot: SlotKey) -> None:
        """As `Observed.unwant`."""
        self._wanted[slot] -= 1
        if self._wanted[slot] <= 0:
            del self._wanted[slot]
            self._view.games.pop(self._names.pop(slot, ""), None)
            self._unknown.discard(slot)
            self._soon()

    def follows(self, slot: SlotKey) -> bool:
        """As `Observed.follows`."""
        return self._game(slot) is not None and slot.ordinal in self._desk.slots(slot.tournament)

    def running(self, tournament: int) -> Iterator[SlotKey]:
        """Return the games that can be shown at once; the next call can return more."""
        until = asyncio.get_running_loop().time() + _AHEAD_SECONDS
        for ordinal in self._desk.slots(tournament)[:_AHEAD]:
            slot = SlotKey(tournament, ordinal)
            if slot not in self._ahead:
                self.want(slot)
            self._ahead[slot] = until
            if self._game(slot) is not None:
                yield slot

    def in_flight(self, tournament: int) -> int:
        """As `Observed.in_flight`."""
        return self._desk.in_flight(tournament)

    def _game(self, slot: SlotKey) -> feed_pb2.WatchedGame | None:
        return self._view.games.get(self._names.get(slot, ""))

    def _is_new(self, played: GameEvent) -> bool:
        if played.slot not in self._wanted:
            return False
        event = played.event
        known = self._game(played.slot)
        if isinstance(event, feed_pb2.WatchedGame):
            self._unknown.discard(played.slot)
            # Another server requested this state, too.
            same = known is not None and event.moves == known.moves and event.times_us == known.times_us
            self._names[played.slot] = event.name
            self._view.apply(feed_pb2.Increments(games=[event]))
            return not same or bool(event.scores)
        if known is None or event.ply < len(known.moves):
            return False
        if event.ply > len(known.moves):
            self._unknown.add(played.slot)
            self._soon()
            return False
        self._view.apply(feed_pb2.Increments(plies=[event]))
        return True

    def _soon(self) -> None:
        if not self._telling:
            self._telling = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._telling = False
        message = pb.FeedWants(server=self._server)
        for row, slot in enumerate(self._wanted):
            append_row(message, **slot._asdict())
            if slot in self._unknown:
                message.unknown.append(row)
        self._bus.publish(WANTS, message)
