"""A server whose games the test controls, and watchers of its feed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from noughts_bots import Bot, Move, Position
from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.feed_view import View
from noughts_proto.transport import CLIENT_OPTIONS
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import feed_pb2_grpc, games_pb2
from noughts_server.feed.channel import FeedSettings
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from tests.support.client import Client
from tests.support.databases import make_database
from tests.support.patience import PATIENCE

GAME = "tournaments/cup/games/1"
CUP = "tournaments/cup"
SHORT_INTERVAL = FeedSettings(interval=0.02)


class Gated(Bot):
    """Plays the first free cell each time the test releases the gate, so the test decides when plies are made."""

    def __init__(self, gate: asyncio.Semaphore) -> None:
        self._gate = gate

    async def choose(self, position: Position) -> int | Move:
        await self._gate.acquire()
        return position.free[0]


class Watcher:
    """A stream of the feed, and the view that results from its messages."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.view = View()
        self.sequence = self.epoch = 0
        self.messages: list[pb.WatchResponse] = []

    async def read(self) -> pb.WatchResponse | None:
        """Read the next message and apply it to the view; None at the end. Increments must have no gap."""
        async with asyncio.timeout(PATIENCE):
            message: Any = await self.call.read()
        if message is grpc.aio.EOF:
            return None
        assert isinstance(message, pb.WatchResponse)
        kind = message.WhichOneof("event")
        if kind == "increments":
            assert message.sequence == self.sequence + 1
        self.view.take(message)
        self.sequence, self.epoch = message.sequence, message.epoch
        self.messages.append(message)
        return message

    async def read_message(self) -> pb.WatchResponse:
        """Read the next message; fail if the stream has ended."""
        message = await self.read()
        assert message is not None
        return message

    async def read_to_the_end(self) -> "Watcher":
        """Read until the server ends the stream with OK."""
        while await self.read() is not None:
            pass
        assert await self.call.code() is grpc.StatusCode.OK
        return self

    def plies(self, name: str = GAME) -> list[tuple[int, int]]:
        """Return (ply, cell) of all plies of the game that came as increments."""
        return [
            (ply.ply, ply.cell) for message in self.messages for ply in message.increments.plies if ply.game == name
        ]

    def kinds(self) -> list[str | None]:
        return [message.WhichOneof("event") for message in self.messages]


class WatchedServer:
    """A server, a client of it, and its feed; bots move when `gate` is released."""

    def __init__(self, client: Client, stub: Any) -> None:
        self.client = client
        self.stub = stub
        self.gate = asyncio.Semaphore(0)

    def watch(self, name: str, from_sequence: int = 0, epoch: int = 0) -> Watcher:
        return Watcher(self.stub.Watch(pb.WatchRequest(name=name, from_sequence=from_sequence, epoch=epoch)))

    @asynccontextmanager
    async def playing(
        self, token: str, *, gated: bool, kind: type[Gated] = Gated, **fields: Any
    ) -> AsyncIterator[None]:
        """Log in ada and bob, and start their tournament `cup`; they play while the block runs."""
        async with self.bots(token, gated=gated, kind=kind):
            await self.client.create(token, **fields)
            for name in ("ada", "bob"):
                await self.client.join(token, name)
            await self.client.start(token)
            yield

    @asynccontextmanager
    async def bots(
        self, token: str, names: Sequence[str] = ("ada", "bob"), *, gated: bool = True, kind: type[Gated] = Gated
    ) -> AsyncIterator[None]:
        """Log in these bots, which play while the block runs."""
        news: asyncio.Queue[SessionEvent] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            bots = [kind(self.gate) if gated else Random() for _ in names]
            running = [
                tasks.create_task(play(bot, Login(self.client.server.address, token, name), news.put_nowait))
                for bot, name in zip(bots, names, strict=True)
            ]
            try:
                for _ in running:
                    await asyncio.wait_for(news.get(), PATIENCE)
                yield
            finally:
                for task in running:
                    task.cancel()

    async def featured_boards(self, games_running: dict[str, int]) -> list[pb.WatchedGame]:
        """Return the four boards of featured games, as soon as these tournaments play so many games."""
        for name, games in games_running.items():
            tournament = self.watch(name)
            while not tournament.view.has_snapshot or tournament.view.tournaments[name].games_running < games:
                await tournament.read_message()
        watching = self.watch("featured")
        while len(watching.view.games) < 4:
            await watching.read_message()
        return list(watching.view.games.values())

    async def game(self, number: int = 1) -> games_pb2.Game:
        """Return a stored game of `cup`."""
        request = games_pb2.GetGameRequest(name=f"{CUP}/games/{number}")
        return (await self.client.games.GetGame(request)).game


@asynccontextmanager
async def watched_server(
    database: Path, feed: FeedSettings = SHORT_INTERVAL, **settings_fields: Any
) -> AsyncIterator[WatchedServer]:
    settings = ServerSettings(listen="127.0.0.1:0", database=make_database(database), feed=feed, **settings_fields)
    async with (
        running_server(settings) as server,
        grpc.aio.insecure_channel(server.address, options=CLIENT_OPTIONS) as channel,
    ):
        yield WatchedServer(Client(server, channel, database), feed_pb2_grpc.FeedServiceStub(channel))
