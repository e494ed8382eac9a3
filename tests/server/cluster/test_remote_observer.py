"""Watching games on a server that are played elsewhere: each ply arrives once and in order, from any moment on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noughts_proto.v1 import cluster_pb2, feed_pb2
from noughts_server.cluster.remote_observer import RemoteObserver
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.feed.observer import PLAYED, GameEvent, SlotKey
from noughts_server.runtime.bus import MemoryBus
from noughts_server.store.engine.database import Store
from tests.support.databases import make_database

SLOT = SlotKey(1, 7)
NAME = "tournaments/cup/games/7"


class Watched:
    """A bus on which a referee's events come, and what a feed hears of them."""

    def __init__(self, store: Store) -> None:
        self.bus = MemoryBus()
        self.folder_of_user = RemoteReferee(store, self.bus, "server", margin_us=0)
        self.observer = RemoteObserver(self.folder_of_user, self.bus, "server")
        self.heard: list[int] = []
        self.hearing = self.observer.listening(self._hear)

    def _hear(self, played: GameEvent) -> None:
        event = played.event
        self.heard.append(event.ply if isinstance(event, feed_pb2.WatchedPly) else -len(event.moves))

    def played(self, *plies: int) -> None:
        for ply in plies:
            self.bus.publish(PLAYED, GameEvent(SLOT, feed_pb2.WatchedPly(game=NAME, ply=ply, cell=ply)))

    def stands(self, plies: int) -> None:
        game = feed_pb2.WatchedGame(name=NAME, moves=bytes(range(plies)), times_us=[1] * plies)
        self.bus.publish(PLAYED, GameEvent(SLOT, game))


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    """A server's observer, without referees but those that the test speaks for."""
    store = await Store.open(make_database(tmp_path / "league.sqlite"))
    watching = Watched(store)
    with watching.hearing:
        yield watching
    await store.close()


async def test_what_one_watcher_does_with_a_game_is_nothing_to_the_observer(watched: Watched) -> None:
    assert watched.observer.observe(SLOT) is None
    watched.stands(2)
    game = watched.observer.observe(SLOT)
    assert game is not None
    assert list(game.moves) == [0, 1]
    # As a feed's channel does, which keeps it up to date.
    game.moves.append(2)
    watched.played(2, 3, 4)
    assert watched.heard == [-2, 2, 3, 4]


async def test_a_ply_that_was_lost_is_made_good_by_asking_how_the_game_stands(watched: Watched) -> None:
    watched.observer.observe(SLOT)
    watched.stands(1)
    watched.played(1, 3, 4)
    assert watched.heard == [-1, 1]
    watched.stands(5)
    watched.played(5)
    assert watched.heard == [-1, 1, -5, 5]


async def test_plies_and_games_that_are_known_are_told_once(watched: Watched) -> None:
    watched.observer.observe(SLOT)
    watched.stands(2)
    watched.stands(2)
    watched.played(0, 1, 2, 2)
    assert watched.heard == [-2, 2]


async def test_what_nobody_wants_is_told_nobody(watched: Watched) -> None:
    watched.stands(2)
    watched.observer.observe(SLOT)
    watched.observer.stop_observing(SLOT)
    watched.played(2)
    assert watched.heard == []


async def test_a_game_that_two_referees_play_is_one(watched: Watched) -> None:
    for name in ("frozen", "instead of it"):
        played = cluster_pb2.ClusterTournament(tournament=SLOT.tournament, ordinals=[SLOT.ordinal])
        watched.folder_of_user.referees[name] = cluster_pb2.RefereePresence(referee=name, tournaments=[played])
    assert list(watched.observer.running(SLOT.tournament)) == []
    watched.stands(2)
    assert list(watched.observer.running(SLOT.tournament)) == [SLOT]
    assert watched.folder_of_user.slots(SLOT.tournament) == [SLOT.ordinal]
