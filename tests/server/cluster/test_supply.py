"""A referee of a cluster holds no units that it does not play, so that other referees can claim them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from noughts_referee.game import Game
from noughts_referee.referee import Referee
from noughts_referee.rules import Termination
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.cluster.remote_bots import RemoteBots
from noughts_server.cluster.supply import SharedPlay
from noughts_server.runtime.bus import MemoryBus
from noughts_server.runtime.director import Director
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.inactivity import InactivityCheck
from noughts_server.runtime.recorder import recording
from noughts_server.store.nodes import Node, NodeKind
from noughts_server.store.tournaments.tournaments import pause_tournament, start_tournament
from tests.referee.referee_driver import ScriptedConnection
from tests.support.arena import NOW, Arena, open_arena
from tests.support.loopback import wait_until

FAR, NEAR = Node("referee-far", NodeKind.REFEREE, 1), Node("referee-near", NodeKind.REFEREE, 1)


@dataclass
class FarReferee:
    """A referee that plays a tournament with one game at a time, as long as it is the oldest referee."""

    arena: Arena
    referee: Referee
    membership: Membership
    play: SharedPlay

    def units_held(self) -> int:
        """Return the number of units that this referee holds."""
        return int(self.arena.rows(f"SELECT count(*) FROM units WHERE holder = '{FAR.name}'")[0][0])

    def begin_game(self) -> Game:
        """Connect two bots that never answer; return the game that begins."""
        for key in (1, 2):
            self.referee.connect(self.referee.player(key), ScriptedConnection(timed=1, untimed=1))
        (game,) = self.referee.running(1)
        return game

    async def set_state(self, running: bool) -> None:
        """Pause or start the tournament, as the organiser does."""
        owner = self.arena.rows("SELECT id FROM owners")[0][0]
        change = partial(start_tournament if running else pause_tournament, now_ms=NOW)
        self.play.local.follow(await self.arena.store.write(partial(change, slug="cup", owner_id=owner)))


@pytest.fixture
async def far(tmp_path: Path) -> AsyncIterator[FarReferee]:
    bus = MemoryBus()
    async with open_arena(tmp_path / "league.sqlite") as arena, recording(arena.store, bus) as recorder:
        await arena.tournament(games_per_pair=4_000, concurrency=1)
        referee = Referee(recorder.record)
        membership = Membership(arena.store, NatsBus(BusSettings("nats://127.0.0.1:1"), "far"), FAR)
        bots = RemoteBots(referee, bus, membership, reconnect_timeout=60.0)
        play = SharedPlay(arena.store, referee, recorder, bus, membership, bots)
        far = FarReferee(arena, referee, membership, play)
        async with play.local.supplying(resumes_play=False), running(play.follow()):
            await wait_until(referee.count_queued)
            yield far


async def test_referee_that_returns_releases_its_units(far: FarReferee) -> None:
    # While the far referee was frozen, the near one claimed a unit, and plays the tournament from now on.
    far.arena.execute(f"UPDATE units SET holder = '{NEAR.name}' WHERE number = 0")
    far.membership.alive = (NEAR, FAR)
    units = far.arena.rows(f"SELECT tournament_id, number FROM units WHERE holder = '{FAR.name}'")
    far.play.resynchronise(frozenset((tournament, number) for tournament, number in units))
    await wait_until(lambda: far.units_held() == 0)


@pytest.mark.parametrize("running_games", [0, 1])
async def test_units_from_before_a_pause_are_released(far: FarReferee, running_games: int) -> None:
    if running_games:
        far.begin_game()
    await far.set_state(running=False)
    far.membership.alive = (NEAR, FAR)
    await far.set_state(running=True)
    await wait_until(lambda: far.units_held() == running_games)


async def test_only_units_of_running_games_are_kept(far: FarReferee) -> None:
    game = far.begin_game()
    far.membership.alive = (NEAR, FAR)
    far.play.check_now()
    await wait_until(lambda: far.units_held() == 1)
    far.referee.forfeit(far.referee.player(1), Termination.DISCONNECTED)
    await wait_until(lambda: far.units_held() == 0)
    assert far.arena.rows("SELECT ordinal FROM games") == [(game.slot.ordinal,)]


async def test_hanging_bot_is_withdrawn_from_a_resumed_tournament(far: FarReferee) -> None:
    game = far.begin_game()
    await far.set_state(running=False)
    await far.set_state(running=True)
    inactivity = InactivityCheck(
        store=far.arena.store,
        referee=far.referee,
        director=Director(far.arena.store, far.play.local),
        playing=far.play.local.playing,
        seconds=0.2,
    )
    async with running(inactivity.run()):
        await wait_until(lambda: not far.referee.count_running())
    assert far.arena.rows("SELECT number FROM entries WHERE withdrawn_at IS NOT NULL") == [(game.slot.first,)]
