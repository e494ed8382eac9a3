"""Watchers of games that referees elsewhere play: each ply arrives once and in order, whenever they begin to watch."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noughts_proto.v1 import cluster_pb2, feed_pb2
from noughts_server.cluster.remote_observer import RemoteObserver
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.feed.observer import PLAYED, GameEvent, ScheduledGameKey
from noughts_server.runtime.bus import MemoryBus
from noughts_server.store.engine.database import Store
from tests.support.databases import make_database

SLOT = ScheduledGameKey(1, 7)
NAME = "tournaments/cup/games/7"


class WatchingServer:
    """A server whose bus receives the events of a referee, and the events that its watchers get."""

    def __init__(self, store: Store) -> None:
        self.bus = MemoryBus()
        self.remote_referee = RemoteReferee(store, self.bus, "server", margin_us=0)
        self.observer = RemoteObserver(self.remote_referee, self.bus, "server")
        self.events: list[str] = []
        """"ply 3" for a single ply, "3 moves" for a complete game."""
        self.listening = self.observer.listening(self._add_event)

    def _add_event(self, game_event: GameEvent) -> None:
        event = game_event.event
        if isinstance(event, feed_pb2.WatchedPly):
            self.events.append(f"ply {event.ply}")
        else:
            self.events.append(f"{len(event.moves)} moves")

    def publish_plies(self, *plies: int) -> None:
        for ply in plies:
            self.bus.publish(PLAYED, GameEvent(SLOT, feed_pb2.WatchedPly(game=NAME, ply=ply, cell=ply)))

    def publish_game(self, plies: int) -> None:
        """Publish the complete game after this number of plies."""
        game = feed_pb2.WatchedGame(name=NAME, moves=bytes(range(plies)), times_us=[1] * plies)
        self.bus.publish(PLAYED, GameEvent(SLOT, game))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[WatchingServer]:
    """A server without real referees: the test publishes their events."""
    store = await Store.open(make_database(tmp_path / "league.sqlite"))
    server = WatchingServer(store)
    with server.listening:
        yield server
    await store.close()


async def test_watcher_that_changes_its_game_does_not_change_the_observers(server: WatchingServer) -> None:
    assert server.observer.observe(SLOT) is None
    server.publish_game(2)
    game = server.observer.observe(SLOT)
    assert game is not None
    assert list(game.moves) == [0, 1]
    # The channel of a feed keeps its copy of the game up to date.
    game.moves.append(2)
    server.publish_plies(2, 3, 4)
    assert server.events == ["2 moves", "ply 2", "ply 3", "ply 4"]


async def test_plies_after_a_lost_one_wait_for_the_complete_game(server: WatchingServer) -> None:
    server.observer.observe(SLOT)
    server.publish_game(1)
    server.publish_plies(1, 3, 4)
    assert server.events == ["1 moves", "ply 1"]
    server.publish_game(5)
    server.publish_plies(5)
    assert server.events == ["1 moves", "ply 1", "5 moves", "ply 5"]


async def test_repeated_plies_and_games_are_delivered_once(server: WatchingServer) -> None:
    server.observer.observe(SLOT)
    server.publish_game(2)
    server.publish_game(2)
    server.publish_plies(0, 1, 2, 2)
    assert server.events == ["2 moves", "ply 2"]


async def test_events_of_games_that_nobody_watches_are_not_delivered(server: WatchingServer) -> None:
    server.publish_game(2)
    server.observer.observe(SLOT)
    server.observer.stop_observing(SLOT)
    server.publish_plies(2)
    assert server.events == []


async def test_game_that_two_referees_report_is_listed_once(server: WatchingServer) -> None:
    for name in ("frozen", "successor"):
        tournament = cluster_pb2.ClusterTournament(tournament=SLOT.tournament, ordinals=[SLOT.ordinal])
        server.remote_referee.referees[name] = cluster_pb2.RefereePresence(referee=name, tournaments=[tournament])
    assert list(server.observer.running(SLOT.tournament)) == []
    server.publish_game(2)
    assert [game.slot for game in server.observer.running(SLOT.tournament)] == [SLOT]
    assert server.remote_referee.slots(SLOT.tournament) == [SLOT.ordinal]
