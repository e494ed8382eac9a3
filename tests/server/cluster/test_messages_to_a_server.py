"""A server of a cluster handles messages from referees and other servers."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_proto.v1 import play_pb2
from noughts_referee.clock import parse_time_control
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.frame_connection import WireSettings, session_replaced
from noughts_server.cluster import remote_referee
from noughts_server.cluster.codecs import REFEREES, SERVERS, TO_REFEREE
from noughts_server.cluster.presence import Presence
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.runtime.bus import MemoryBus
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.sessions import OnlineBot, Sessions
from tests.support.arena import Arena, open_arena
from tests.support.loopback import wait_until


class ServerSide:
    """The server "here" with one bot, version 1, in a tournament of two bots; its referee is the node "far"."""

    def __init__(self, arena: Arena) -> None:
        self.bus = MemoryBus()
        self.remote = RemoteReferee(arena.store, self.bus, "here", margin_us=0, limit=lambda node: 0.0)
        """Every referee counts as silent as soon as the server looks."""
        self.sessions = Sessions(self.remote, self.bus, WireSettings())
        self.wire = self.sessions.wire(1)
        self.player: ConnectedPlayer = self.remote.player(1)
        self.player.wire = self.wire

    def receive_game(self, moves: list[int], spent_us: int = 0) -> None:
        """Receive game 7 from the referee, after these moves.

        If `spent_us` is not 0, the referee also asks the bot for its next move, and has done so for this time.
        """
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
        self.remote._forward_asks("far", self.player, asks)


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[ServerSide]:
    async with open_arena(tmp_path / "league.sqlite") as arena:
        await arena.tournament(time=parse_time_control("60/move"))
        side = ServerSide(arena)
        async with running(side.remote.run(side.sessions.wire)):
            asks = pb.ClusterAsks(referee="far")
            asks.bots.add(version=1).starts.add(tournament=1, first=[0], second=[1])
            side.remote._receive(asks)  # makes the server read the tournament
            await wait_until(lambda: side.remote._conditions)
            yield side


async def test_referee_that_was_silent_must_send_its_games_again(side: ServerSide) -> None:
    games_requested = asyncio.Event()

    def on_answers(answers: pb.ClusterAnswers) -> None:
        if answers.bots[0].lost:
            games_requested.set()

    side.bus.subscribe(f"{TO_REFEREE}:far", on_answers)
    side.bus.publish(REFEREES, pb.RefereePresence(referee="far"))
    await wait_until(lambda: "far" not in side.remote.referees)
    side.bus.publish(REFEREES, pb.RefereePresence(referee="far"))
    await wait_until(games_requested.is_set)


async def test_a_game_that_differs_at_its_referee_begins_again(side: ServerSide) -> None:
    for moves in ([4, 0], [4, 0], [4, 1]):
        side.receive_game(moves)
    assert [game.moves for game in side.player.outbox.starts] == [[4, 0], [4, 1]]
    assert [game.moves for game in side.player.outbox.ends] == [[4, 0]]


async def test_time_for_which_the_referee_waited_counts_for_a_question(side: ServerSide) -> None:
    side.receive_game([4, 0], spent_us=40_000_000)
    (open_us,) = side.wire.hand_over(session_replaced("bots/ada")).values()
    assert open_us >= 40_000_000


async def test_server_that_stops_announces_that_it_leaves(side: ServerSide) -> None:
    presences: list[pb.ServerPresence] = []
    side.bus.subscribe(SERVERS, presences.append)
    async with running(Presence(side.sessions, side.remote, side.bus, "here").run()):
        await asyncio.sleep(0)
    assert [presence.leaving for presence in presences] == [False, True]


async def test_a_bot_that_logs_in_elsewhere_leaves_here(side: ServerSide) -> None:
    login = OnlineBot(bot=1, name="bots/ada/versions/1", token=None, declines_challenges=False)
    side.sessions.log_in(1, login)
    async with running(Presence(side.sessions, side.remote, side.bus, "here").run()):
        await asyncio.sleep(0)
        presence = pb.BotPresence(version=1, bot=1, name=login.name, fresh=True, online=True)
        assert 1 in side.sessions.logins_here()
        side.bus.publish(SERVERS, pb.ServerPresence(server="there", bots=[presence]))
        assert 1 not in side.sessions.logins_here()
        assert side.sessions.online(1)


class SilentFrames:
    """The frames of a bot that never sends anything."""

    async def read(self) -> object:
        await asyncio.Event().wait()
        return None

    async def write(self, message: play_pb2.PlayResponse, /) -> None:
        """Nothing is sent."""


async def test_login_without_a_bus_is_published_once_the_bus_is_connected(side: ServerSide) -> None:
    presences: list[pb.ServerPresence] = []
    side.bus.subscribe(SERVERS, presences.append)
    presence = Presence(side.sessions, side.remote, side.bus, "here")
    side.sessions.log_in(1, OnlineBot(bot=1, name="bots/ada/versions/1", token=None, declines_challenges=False))
    side.bus.connected = False
    async with running(presence.run(), side.wire.serve(SilentFrames(), play_pb2.Welcome(), 1)):
        await wait_until(lambda: any(bot.online for message in presences for bot in message.bots))
        side.bus.connected = True
        presences.clear()
        presence.publish_all()
        presence.publish_all()
    fresh = [bot.fresh for message in presences for bot in message.bots]
    assert fresh[:2] == [True, False]


def remembers(remote: RemoteReferee, tournaments: list[int]) -> bool:
    return list(remote._conditions) == tournaments


async def test_server_remembers_the_newest_tournaments(
    side: ServerSide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_referee, "_MOST_TOURNAMENTS", 1)
    async with open_arena(tmp_path / "league.sqlite") as arena:
        await arena.tournament("second")
    for tournaments in ([2], [1]):
        asks = pb.ClusterAsks(referee="far")
        asks.bots.add(version=1).starts.add(tournament=tournaments[0], first=[0], second=[1])
        side.remote._receive(asks)
        await wait_until(partial(remembers, side.remote, tournaments))


async def test_thousands_of_bots_are_in_one_complete_message(side: ServerSide) -> None:
    presences: list[pb.ServerPresence] = []
    side.bus.subscribe(SERVERS, presences.append)
    for version in range(1, 2_501):
        login = OnlineBot(bot=version, name=f"bots/b{version}", token=None, declines_challenges=False)
        side.sessions.log_in(version, login)
    Presence(side.sessions, side.remote, side.bus, "here").publish_all()
    # Only a complete message tells the others which bots have left.
    assert [(presence.complete, len(presence.bots)) for presence in presences] == [(True, 2_500)]
