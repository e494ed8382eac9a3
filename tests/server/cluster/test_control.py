"""A server of a cluster that plays no games itself: scheduled starts, and answers of its bots to referees."""

import asyncio
from functools import partial
from pathlib import Path

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.children.forfeiting_players import ForfeitingPlayers
from noughts_referee.frame_connection import WireSettings
from noughts_referee.rules import Termination
from noughts_server.cluster.codecs import TO_REFEREE, TO_SERVER
from noughts_server.cluster.control import RemotePlay
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.runtime.bus import MemoryBus, listening
from noughts_server.runtime.director import Director
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.tournament_play import CHANGED
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.tournaments.join_window import Joining
from noughts_server.store.tournaments.tournaments import NewTournament, create_tournament, get_tournament
from tests.support.arena import open_arena
from tests.support.loopback import wait_until


async def test_leading_server_starts_a_tournament_that_another_one_scheduled(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "league.sqlite") as arena:
        await arena.tournament(start=False)
        store, bus, changed = arena.store, MemoryBus(), list[int]()
        director = Director(store, RemotePlay(store, bus), check_seconds=0.02)
        with listening(bus, CHANGED, changed.append):
            async with director.directing():
                await asyncio.sleep(0)  # by now the director has found no scheduled start
                now = store.now_ms()
                new = NewTournament("late", joining=Joining(start_at=now + 100))
                late = await store.write(partial(create_tournament, new=new, owner_id=1, now_ms=now))
                await wait_until(lambda: changed == [late.id])
        # The started tournament is cancelled because it has no entries.
        state = await store.read(lambda connection: get_tournament(connection, "late").state)
        assert state is TournamentState.CANCELLED


async def test_bot_that_cannot_start_loses_a_game_of_another_server(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "league.sqlite") as arena:
        tournament = await arena.tournament()
        bus, answers = MemoryBus(), list[pb.ClusterAnswers]()
        referee = RemoteReferee(arena.store, bus, "server", margin_us=0)
        sessions = Sessions(referee, bus, WireSettings())
        ForfeitingPlayers(referee).add(referee.player(1), "could not be started", lambda games: None)
        with listening(bus, f"{TO_REFEREE}:referee", answers.append):
            async with running(referee.run(sessions.wire)):
                starts = pb.ClusterStarts(
                    tournament=tournament.id, game=[5], ordinal=[1], first=[0], second=[1], ply=[0], move_count=[0]
                )
                asks = pb.BotAsks(version=1, starts=[starts], game=[5], ply=[0], cell=[0], spent_us=[1_000])
                await asyncio.sleep(0)  # by now the referee listens to the bus
                bus.publish(f"{TO_SERVER}:server", pb.ClusterAsks(referee="referee", bots=[asks]))
                await wait_until(lambda: bool(answers))
        (bot,) = answers[0].bots
        assert (bot.version, bot.forfeit, bot.fault) == (1, Termination.CRASHED, "could not be started")
