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
    """Loses the next message with a subject that begins like this."""

    loses = ""

    def publish(self, subject: str, message: Any) -> None:
        """Deliver the message, or lose it."""
        if self.loses and subject.startswith(self.loses):
            self.loses = ""
        else:
            super().publish(subject, message)


@dataclass
class Pair:
    """A referee and a server with the two bots of one game, on a bus that loses messages."""

    bus: LossyBus
    referee: Referee
    server: RemoteReferee
    finished: list[FinishedGame]
    playing: GameConditions

    async def begin(self) -> tuple[ConnectedPlayer, int]:
        """Begin a game; return the bot that moves first and the handle of the game, as the server knows them."""
        self.referee.add(unit(self.playing))
        bots = [self.server.player(key) for key in (1, 2)]
        await wait_until(lambda: any(bot.outbox.turn_game for bot in bots))
        bot = next(bot for bot in bots if bot.outbox.turn_game)
        (handle,) = bot.outbox.turn_game
        return bot, handle

    async def ending(self) -> Termination:
        """How the game ended, once it has."""
        await wait_until(lambda: self.finished)
        return Termination(self.finished[0].termination)


@pytest.fixture
async def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    monkeypatch.setattr(remote_bots, "_REPEAT_SECONDS", 0.05)
    async with open_arena(tmp_path / "league.sqlite") as arena:
        tournament = await arena.tournament(time=parse_time_control("60/move"))
        playing = await arena.store.read(partial(read_conditions, tournament_id=tournament.id))
        bus, finished = LossyBus(), list[FinishedGame]()
        server, referee = RemoteReferee(arena.store, bus, "here", margin_us=0), Referee(finished.extend)
        far = Node("far", NodeKind.REFEREE, 1)
        membership = Membership(arena.store, NatsBus(BusSettings("nats://127.0.0.1:1"), far.name), far)
        bots = RemoteBots(referee, bus, membership, grace=60.0)
        async with running(server.run(Sessions(server, bus, WireSettings()).wire), bots.run()):
            await asyncio.sleep(0)
            for key in (1, 2):
                server.joined(server.player(key), ScriptedConnection(1, 1))
            online = [pb.BotPresence(version=key, online=True, seats_timed=1, seats_untimed=1) for key in (1, 2)]
            bus.publish(SERVERS, pb.ServerPresence(server="here", bots=online))
            yield Pair(bus, referee, server, finished, playing)


async def test_lost_question_is_asked_again(pair: Pair) -> None:
    pair.bus.loses = TO_SERVER
    await pair.begin()
    assert not pair.bus.loses


async def test_lost_answer_is_sent_again(pair: Pair) -> None:
    bot, handle = await pair.begin()
    pair.bus.loses = TO_REFEREE
    pair.server.judge_answers(bot, Answers(games=[handle], plies=[0], cells=[4], times_us=[1_000]))
    (game,) = pair.referee.running(1)
    await wait_until(lambda: game.ply == 1)
    assert (game.moves, game.times_us, pair.bus.loses) == ([4], [1_000], "")


async def test_lost_report_of_a_late_move_is_sent_again(pair: Pair) -> None:
    bot, handle = await pair.begin()
    pair.bus.loses = TO_REFEREE
    pair.server.end_overdue(bot, [(handle, 0, 61_000_000)])
    assert await pair.ending() is Termination.TIMEOUT
    assert not pair.bus.loses


async def test_lost_report_that_a_bot_does_not_return_is_sent_again(pair: Pair) -> None:
    bot, _ = await pair.begin()
    pair.bus.loses = TO_REFEREE
    bot.wire = ScriptedConnection(0, 0)
    pair.server.forfeit(bot, Termination.DISCONNECTED)
    assert await pair.ending() is Termination.DISCONNECTED
    assert not pair.bus.loses


async def test_bot_gets_a_repeated_question_once(pair: Pair) -> None:
    bot, handle = await pair.begin()
    repeated: list[int] = []
    pair.bus.subscribe(f"{TO_SERVER}:here", lambda asks: repeated.extend(asks.bots[0].game))
    await wait_until(lambda: len(repeated) >= 3)
    assert bot.outbox.turn_game == [handle]
