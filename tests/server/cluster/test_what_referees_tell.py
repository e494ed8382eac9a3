"""A server of a cluster handles messages from referees and other servers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.clock import parse_time_control
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.frame_connection import WireSettings, session_replaced
from noughts_server.cluster.codecs import REFEREES, SERVERS, TO_REFEREE
from noughts_server.cluster.presence import Presence
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.runtime.bus import MemoryBus
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.sessions import OnlineBot, Sessions
from tests.support.arena import Arena, open_arena
from tests.support.loopback import wait_until


class Here:
    """A server with one bot, version 1, in a tournament of two; its referee is far away."""

    def __init__(self, arena: Arena) -> None:
        self.bus = MemoryBus()
        self.remote = RemoteReferee(arena.store, self.bus, "here", margin_us=0, limit=lambda node: 0.0)
        self.sessions = Sessions(self.remote, self.bus, WireSettings())
        self.wire = self.sessions.wire(1)
        self.player: ConnectedPlayer = self.remote.player(1)
        self.player.wire = self.wire

    def told(self, moves: list[int], spent_us: int = 0) -> None:
        """The referee tells of game 7 after these moves, and asks the bot for the next one if `spent_us` is given."""
        asks = pb.BotAsks(version=1)
        starts = asks.starts.add(tournament=1, game=[7], ordinal=[1], first=[0], second=[1], ply=[len(moves)])
        starts.move_count.append(len(moves))
        starts.moves.extend(moves)
        starts.first_clock_us.append(0)
        starts.second_clock_us.append(0)
        if spent_us:
            asks.game.append(7)
            asks.ply.append(len(moves))
            asks.cell.append(moves[-1])
            asks.first_clock_us.append(0)
            asks.second_clock_us.append(0)
            asks.spent_us.append(spent_us)
        self.remote._tell("far", self.player, asks)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    async with open_arena(tmp_path / "league.sqlite") as arena:
        await arena.tournament(time=parse_time_control("60/move"))
        here = Here(arena)
        async with running(here.remote.run(here.sessions.wire)):
            asks = pb.ClusterAsks(referee="far")
            asks.bots.add(version=1).starts.add(tournament=1, first=[0], second=[1])
            here.remote._hear(asks)  # so that it reads the tournament
            await wait_until(lambda: here.remote._conditions)
            yield here


async def test_a_referee_that_was_silent_is_asked_for_its_games(here: Here) -> None:
    lost = asyncio.Event()

    def hear(answers: pb.ClusterAnswers) -> None:
        if answers.bots[0].lost:
            lost.set()

    here.bus.subscribe(f"{TO_REFEREE}:far", hear)
    here.bus.publish(REFEREES, pb.RefereePresence(referee="far"))
    await wait_until(lambda: "far" not in here.remote.referees)
    here.bus.publish(REFEREES, pb.RefereePresence(referee="far"))
    await wait_until(lost.is_set)


async def test_a_game_that_differs_at_its_referee_begins_again(here: Here) -> None:
    for moves in ([4, 0], [4, 0], [4, 1]):
        here.told(moves)
    assert [game.moves for game in here.player.outbox.starts] == [[4, 0], [4, 1]]
    assert [game.moves for game in here.player.outbox.ends] == [[4, 0]]


async def test_a_question_keeps_the_time_that_it_was_open_elsewhere(here: Here) -> None:
    here.told([4, 0], spent_us=40_000_000)
    [opened] = here.wire.hand_over(session_replaced("bots/ada")).values()
    assert opened >= 40_000_000


async def test_a_server_that_stops_says_so(here: Here) -> None:
    said: list[pb.ServerPresence] = []
    here.bus.subscribe(SERVERS, said.append)
    async with running(Presence(here.sessions, here.remote, here.bus, "here").run()):
        await asyncio.sleep(0)
    assert [each.leaving for each in said] == [False, True]


async def test_a_bot_that_logs_in_elsewhere_leaves_here(here: Here) -> None:
    login = OnlineBot(bot=1, name="bots/ada/versions/1", token=None, declines_challenges=False)
    here.sessions.logged_in(1, login)
    async with running(Presence(here.sessions, here.remote, here.bus, "here").run()):
        await asyncio.sleep(0)
        there = pb.BotPresence(version=1, bot=1, name=login.name, fresh=True, online=True)
        assert 1 in here.sessions.logins_here()
        here.bus.publish(SERVERS, pb.ServerPresence(server="there", bots=[there]))
        assert 1 not in here.sessions.logins_here()
        assert here.sessions.online(1)


async def test_thousands_of_bots_are_in_one_complete_message(here: Here) -> None:
    said: list[pb.ServerPresence] = []
    here.bus.subscribe(SERVERS, said.append)
    for version in range(1, 2_501):
        login = OnlineBot(bot=version, name=f"bots/b{version}", token=None, declines_challenges=False)
        here.sessions.logged_in(version, login)
    Presence(here.sessions, here.remote, here.bus, "here").tell_all()
    # Only a complete message tells the others which bots have left.
    assert [(each.complete, len(each.bots)) for each in said] == [(True, 2_500)]
