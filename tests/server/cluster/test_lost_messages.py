"""A lost message between a referee and the server of a bot delays a game, but does not stop it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.arbiter import Answers
from noughts_referee.clock import parse_time_control
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.frame_connection import WireSettings
from noughts_referee.referee import Referee
from noughts_referee.rules import Termination
from noughts_referee.work_units import FinishedGame, GameConditions
from noughts_server.cluster import remote_bots
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.codecs import SERVERS, TO_REFEREE, TO_SERVER
from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.cluster.remote_bots import RemoteBots
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.runtime.bus import MemoryBus
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.nodes import Node, NodeKind
from noughts_server.store.tournaments.tournaments import conditions as read_conditions
from tests.referee.referee_driver import ScriptedConnection
from tests.support.arena import open_arena
from tests.support.games import unit
from tests.support.loopback import wait_until


class LossyBus(MemoryBus):
    """A bus that loses one message: the next one whose subject begins with `lost_subject`."""

    lost_subject = ""

    def publish(self, subject: str, message: Any) -> None:
        """Deliver the message, or lose it."""
        if self.lost_subject and subject.startswith(self.lost_subject):
            self.lost_subject = ""
        else:
            super().publish(subject, message)


@dataclass
class TwoNodes:
    """A referee, and a server with the two bots of one game, on a bus that loses messages."""

    bus: LossyBus
    referee: Referee
    server: RemoteReferee
    finished: list[FinishedGame]
    conditions: GameConditions

    async def begin_game(self) -> tuple[ConnectedPlayer, int]:
        """Begin a game; return the server's object of the bot that moves first, and the handle of the game."""
        self.referee.add(unit(self.conditions))
        bots = [self.server.player(key) for key in (1, 2)]
        await wait_until(lambda: any(bot.outbox.turn_game for bot in bots))
        bot = next(bot for bot in bots if bot.outbox.turn_game)
        (handle,) = bot.outbox.turn_game
        return bot, handle

    async def wait_for_end(self) -> Termination:
        """Return how the game ended, as soon as it has."""
        await wait_until(lambda: self.finished)
        return Termination(self.finished[0].termination)


@pytest.fixture
async def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TwoNodes]:
    monkeypatch.setattr(remote_bots, "_REPEAT_SECONDS", 0.05)
    async with open_arena(tmp_path / "league.sqlite") as arena:
        tournament = await arena.tournament(time=parse_time_control("60/move"), scale_time=True)
        conditions = await arena.store.read(partial(read_conditions, tournament_id=tournament.id))
        bus, finished = LossyBus(), list[FinishedGame]()
        server, referee = (
            RemoteReferee(arena.store, bus, "here", margin_us=0),
            Referee(finished.extend, time_factor=1.5),
        )
        far = Node("far", NodeKind.REFEREE, 1)
        membership = Membership(arena.store, NatsBus(BusSettings("nats://127.0.0.1:1"), far.name), far)
        bots = RemoteBots(referee, bus, membership, reconnect_timeout=60.0)
        async with running(server.run(Sessions(server, bus, WireSettings()).wire), bots.run()):
            await asyncio.sleep(0)  # by now both listen to the bus
            for key in (1, 2):
                server.connect(server.player(key), ScriptedConnection(timed=1, untimed=1))
            online = [pb.BotPresence(version=key, online=True, seats_timed=1, seats_untimed=1) for key in (1, 2)]
            bus.publish(SERVERS, pb.ServerPresence(server="here", bots=online))
            yield TwoNodes(bus, referee, server, finished, conditions)


async def test_the_server_of_a_bot_knows_the_scaled_limits(nodes: TwoNodes) -> None:
    bot, handle = await nodes.begin_game()
    game = bot.games[handle]
    assert (game.time_factor, game.limit_us(), game.left_us) == (1.5, 90_000_000, [90_000_000, 90_000_000])


async def test_lost_question_is_asked_again(nodes: TwoNodes) -> None:
    nodes.bus.lost_subject = TO_SERVER
    await nodes.begin_game()
    assert not nodes.bus.lost_subject


async def test_lost_answer_is_sent_again(nodes: TwoNodes) -> None:
    bot, handle = await nodes.begin_game()
    nodes.bus.lost_subject = TO_REFEREE
    nodes.server.judge_answers(bot, Answers(games=[handle], plies=[0], cells=[4], times_us=[1_000]))
    (game,) = nodes.referee.running(1)
    await wait_until(lambda: game.ply == 1)
    assert (game.moves, game.times_us, nodes.bus.lost_subject) == ([4], [1_000], "")


async def test_lost_report_of_a_late_move_is_sent_again(nodes: TwoNodes) -> None:
    bot, handle = await nodes.begin_game()
    nodes.bus.lost_subject = TO_REFEREE
    nodes.server.end_overdue(bot, [(handle, 0, 91_000_000)])
    assert await nodes.wait_for_end() is Termination.TIMEOUT
    assert not nodes.bus.lost_subject


async def test_lost_report_that_a_bot_does_not_return_is_sent_again(nodes: TwoNodes) -> None:
    bot, _ = await nodes.begin_game()
    nodes.bus.lost_subject = TO_REFEREE
    bot.wire = ScriptedConnection(timed=0, untimed=0)
    nodes.server.forfeit(bot, Termination.DISCONNECTED)
    assert await nodes.wait_for_end() is Termination.DISCONNECTED
    assert not nodes.bus.lost_subject


async def test_bot_gets_a_repeated_question_once(nodes: TwoNodes) -> None:
    bot, handle = await nodes.begin_game()
    repeated: list[int] = []
    nodes.bus.subscribe(f"{TO_SERVER}:here", lambda asks: repeated.extend(asks.bots[0].game))
    await wait_until(lambda: len(repeated) >= 3)
    assert bot.outbox.turn_game == [handle]
