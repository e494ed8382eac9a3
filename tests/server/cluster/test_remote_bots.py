"""A referee of a cluster sends a bot's server all of its games."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.referee import Referee
from noughts_server.cluster import remote_bots
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.codecs import TO_SERVER
from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.cluster.remote_bots import RemoteBots
from noughts_server.runtime.bus import MemoryBus
from noughts_server.store.nodes import Node, NodeKind
from tests.support.arena import open_arena
from tests.support.games import conditions, unit

GAMES = 10


class RefereeSide:
    """A referee whose two bots are connected to the server "there", and its messages to that server."""

    def __init__(self, membership: Membership) -> None:
        bus = MemoryBus()
        self.messages: list[pb.ClusterAsks] = []
        self.referee = Referee(lambda games: None)
        self.bots = RemoteBots(self.referee, bus, membership, reconnect_timeout=60.0)
        bus.subscribe(f"{TO_SERVER}:there", self.messages.append)
        online = [pb.BotPresence(version=key, online=True, fresh=True, seats_untimed=1_000) for key in (1, 2)]
        self.bots._presence(pb.ServerPresence(server="there", bots=online))
        self.referee.add(unit(conditions(), GAMES))

    def play_first_moves(self, version: int) -> None:
        """Play cell 4 in all games in which the bot is to move."""
        games = [handle for handle, game in self.referee.player(version).games.items() if game.mover.key == version]
        answers = pb.BotAnswers(version=version, game=games, ply=[0] * len(games), cell=[4] * len(games))
        answers.time_us.extend([0] * len(games))
        self.bots._answers(pb.ClusterAnswers(server="there", bots=[answers]))


@pytest.fixture
async def side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RefereeSide]:
    monkeypatch.setattr(remote_bots, "_MOST_MOVES", 3)  # of games in one message, unless one bot has more
    async with open_arena(tmp_path / "x.sqlite") as arena:
        node = Node("far", NodeKind.REFEREE, 1)
        side = RefereeSide(Membership(arena.store, NatsBus(BusSettings("nats://127.0.0.1:1"), "far"), node))
        await asyncio.sleep(0)
        for version in (1, 2):
            side.play_first_moves(version)
        await asyncio.sleep(0)
        yield side


async def test_complete_list_of_games_is_one_message(side: RefereeSide) -> None:
    side.messages.clear()
    side.bots.resynchronise()
    for _ in range(GAMES):
        await asyncio.sleep(0)
    complete = [bot for message in side.messages for bot in message.bots if bot.complete]
    assert [sorted(game for starts in bot.starts for game in starts.game) for bot in complete] == [
        sorted(side.referee.player(version).games) for version in (1, 2)
    ]


async def test_games_of_many_bots_come_in_several_messages(side: RefereeSide) -> None:
    side.messages.clear()
    side.bots.resynchronise()
    await asyncio.sleep(0)
    assert [[bot.version for bot in message.bots] for message in side.messages] == [[1], [2]]


async def test_many_open_questions_are_repeated_in_turn(side: RefereeSide, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_bots, "_MOST_REPEATED", 2)
    wire = side.bots._wires[1]
    first, second, third, *_ = [handle for handle, game in wire.player.games.items() if game.mover is wire.player]
    repeated: list[list[int]] = []
    for _ in range(4):
        wire.repeat_questions()
        repeated.append(wire.player.take_outbox().turn_game)
    # The first call repeats nothing: no question has been open since an earlier call.
    assert repeated[:2] == [[], [first, second]]
    assert repeated[2][0] == third
    assert all(len(games) == 2 for games in repeated[1:])
