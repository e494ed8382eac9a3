"""Games that are watched on a server and played by a cluster's referees.

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
from noughts_server.feed.observer import PLAYED, GameEvent, RunningGame, ScheduledGameKey
from noughts_server.runtime.bus import Bus, listening

_PERIOD_SECONDS = 1.0
_PREPARED_SECONDS = 3.0
"""Seconds for which this server requests the state of a game that a watcher could choose."""
_PREPARED = 8
"""The number of a tournament's games whose state this server requests before a watcher chooses some of them."""


class RemoteObserver:
    """The running games of all referees, as `WatchableGames`. Outside a cluster, `FeedObserver` has this role."""

    def __init__(self, referees: RemoteReferee, bus: Bus, server: str) -> None:
        self._referees = referees
        self._bus = bus
        self._server = server
        self._watchers: Counter[ScheduledGameKey] = Counter()
        """The number of watchers of each watched game."""
        self._view = View()
        """The state of the watched games, as far as this server knows it."""
        self._names: dict[ScheduledGameKey, str] = {}
        """The names of the watched games."""
        self._prepared: dict[ScheduledGameKey, float] = {}
        """Games that a watcher can choose soon, with the time until which they are followed."""
        self._unknown: set[ScheduledGameKey] = set()
        """Watched games whose state this server requests."""
        self._will_send_wants = False

    def listening(self, handler: Callable[[GameEvent], None]) -> AbstractContextManager[None]:
        """As `WatchableGames.listening`."""

        def pass_new(played: GameEvent) -> None:
            if self._is_new(played):
                handler(played)

        return listening(self._bus, PLAYED, pass_new)

    async def run(self) -> None:
        """Send the referees the watched games, until cancelled."""
        while True:
            now = asyncio.get_running_loop().time()
            expired = [slot for slot, until in self._prepared.items() if until < now]
            for slot in expired:
                del self._prepared[slot]
                self.stop_observing(slot)
            self._send_wants()
            await asyncio.sleep(_PERIOD_SECONDS)

    def resynchronise(self) -> None:
        """Request the state of all games again, because messages were lost."""
        self._unknown.update(self._watchers)
        self._tell_soon()

    def observe(self, slot: ScheduledGameKey) -> feed_pb2.WatchedGame | None:
        """As `WatchableGames.observe`. Return None for a newly watched game: its referee sends the state later."""
        self._watchers[slot] += 1
        if self._watchers[slot] == 1:
            self._unknown.add(slot)
            self._tell_soon()
            return None
        game = self._game(slot)
        # A copy, because the caller and this object both change their game.
        return game and feed_pb2.WatchedGame.FromString(game.SerializeToString())

    def stop_observing(self, slot: ScheduledGameKey) -> None:
        """As `WatchableGames.stop_observing`."""
        self._watchers[slot] -= 1
        if self._watchers[slot] <= 0:
            del self._watchers[slot]
            self._view.games.pop(self._names.pop(slot, ""), None)
            self._unknown.discard(slot)
            self._tell_soon()

    def is_observed(self, slot: ScheduledGameKey) -> bool:
        """As `WatchableGames.is_observed`."""
        return self._game(slot) is not None and slot.ordinal in self._referees.slots(slot.tournament)

    def running(self, tournament: int) -> Iterator[RunningGame]:
        """Yield the games whose state is known, and request that of others. The next call can yield more."""
        until = asyncio.get_running_loop().time() + _PREPARED_SECONDS
        for ordinal in self._referees.slots(tournament)[:_PREPARED]:
            slot = ScheduledGameKey(tournament, ordinal)
            if slot not in self._prepared:
                self.observe(slot)
            self._prepared[slot] = until
            if (game := self._game(slot)) is not None:
                yield RunningGame(slot, frozenset((game.first, game.second)))

    def count_running(self, tournament: int) -> int:
        """As `WatchableGames.count_running`."""
        return self._referees.count_running(tournament)

    def _game(self, slot: ScheduledGameKey) -> feed_pb2.WatchedGame | None:
        return self._view.games.get(self._names.get(slot, ""))

    def _is_new(self, played: GameEvent) -> bool:
        if played.slot not in self._watchers:
            return False
        event = played.event
        game = self._game(played.slot)
        if isinstance(event, feed_pb2.WatchedGame):
            self._unknown.discard(played.slot)
            # The state is not new if another server requested it.
            is_known = game is not None and event.moves == game.moves and event.times_us == game.times_us
            self._names[played.slot] = event.name
            self._view.apply(feed_pb2.Increments(games=[event]))
            return not is_known or bool(event.scores)
        if game is None or event.ply < len(game.moves):
            return False
        if event.ply > len(game.moves):
            self._unknown.add(played.slot)
            self._tell_soon()
            return False
        self._view.apply(feed_pb2.Increments(plies=[event]))
        return True

    def _tell_soon(self) -> None:
        if not self._will_send_wants:
            self._will_send_wants = True
            asyncio.get_running_loop().call_soon(self._send_wants)

    def _send_wants(self) -> None:
        self._will_send_wants = False
        message = pb.FeedWants(server=self._server)
        for index, slot in enumerate(self._watchers):
            append_row(message, **slot._asdict())
            if slot in self._unknown:
                message.unknown.append(index)
        self._bus.publish(WANTS, message)
