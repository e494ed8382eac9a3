"""A bad bot that connects over gRPC to a real server; it runs in this process, and the referee does not start it."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from noughts_bots.connection.dialogue import Dialogue
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_proto.pipes import LARGEST_FROM_BOT
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.clock import parse_time_control
from noughts_referee.rules import Position
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.tournament import LocalTournament
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.games.exports import ExportedGame, export
from noughts_server.store.tournaments.tournaments import get_tournament
from tests.support.loopback import Link, reason, wait_until

LABEL = "remote"
BAD_PLIES = (2, 3)
RECONNECT_TIMEOUT = 0.2
"""Seconds."""
_LONG_RECONNECT_TIMEOUT = 60.0
"""Seconds. In timed games only the clock may end the bad bot's game, however long it takes to connect again."""
_STAYS = ("hang", "stops reading", "half-open", "endless output")
"""Habits that keep the stream open until their game is lost."""
_REFUSED = ("wrong ticket", "no hello", "old protocol")
_METHOD = "/noughts.v1.PlayService/Play"
_UNLIMITED = [("grpc.max_send_message_length", -1)]


class RemoteField:
    """A tournament between a bad bot and honest ones, which all connect to a server."""

    def __init__(self, server: Server, tournament: LocalTournament) -> None:
        self.server = server
        self.tournament = tournament
        self.statuses: list[str] = []
        """Status with which the server ended each stream of the bad bot; empty if the bot ended it."""
        self.done = 0
        """Number of finished games."""
        self.has_misbehaved = asyncio.Event()
        """Set when the bad bot has misbehaved."""

    @property
    def running(self) -> Collection[int]:
        """The handles of the bad bot's running games."""
        return self.server.referee.player(self.tournament.bots[LABEL].id).games

    async def games(self) -> list[ExportedGame]:
        """Return the stored games."""
        await self.server.recorder.flush()
        slug = self.tournament.slug
        return await self.server.store.read(
            lambda connection: list(export(connection, get_tournament(connection, slug).id))
        )

    async def misbehave(self, habit: str) -> None:
        """Run the bad bot's streams one after another. After one that left its games, wait until they are lost."""
        while True:
            async with self._port(habit) as (port, link):
                self.statuses.append(await _Stream(self, habit, link).play(port))
            self.has_misbehaved.set()
            if habit in _REFUSED:
                return
            if habit not in _STAYS:
                await wait_until(lambda: not self.running)

    @asynccontextmanager
    async def _port(self, habit: str) -> AsyncIterator[tuple[int, Link]]:
        port = int(self.server.address.rpartition(":")[2])
        link = Link(port)
        listener = await asyncio.start_server(link.carry, "127.0.0.1", 0)
        try:
            yield (listener.sockets[0].getsockname()[1] if habit == "half-open" else port), link
        finally:
            link.cut()
            listener.close()
            await listener.wait_closed()


class _Stream:
    """One stream of the bad bot."""

    def __init__(self, field: RemoteField, habit: str, link: Link) -> None:
        self._field = field
        self._habit = habit
        self._link = link
        self._bot = make_bot(parse_spec("first-free"))
        self._call: Any = None

    async def play(self, port: int) -> str:
        """Play and misbehave; return the status with which the server ended the stream, or an empty string."""
        field, habit = self._field, self._habit
        ticket = "wrong" if habit == "wrong ticket" else field.tournament.ticket(LABEL)
        if habit == "slow start":
            await wait_until(lambda: field.done)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=_UNLIMITED) as channel:
            self._call = channel.stream_stream(_METHOD, response_deserializer=pb.PlayResponse.FromString)(
                metadata=((TOKEN_KEY, f"Bearer {ticket}"),)
            )
            try:
                await self._converse()
            except grpc.aio.AioRpcError as error:
                return f"{error.code().name} {reason(error) or error.details()}"
            finally:
                self._call.cancel()
        return ""

    async def _converse(self) -> None:
        dialogue = Dialogue(self._bot, lambda event: None)
        match self._habit:
            case "never starts":
                self._field.has_misbehaved.set()
                await asyncio.Event().wait()
            case "no hello":
                await self._send(pb.PlayRequest(done_through=1))
            case "old protocol":
                await self._send(pb.PlayRequest(hello=pb.Hello(protocol=77)))
            case _:
                await self._send(dialogue.hello("", ""))
        while isinstance(frame := await self._call.read(), pb.PlayResponse):
            dialogue.acknowledge(frame)
            for handle, ply, position in dialogue.take(frame):
                if ply in BAD_PLIES and await self._is_over(dialogue, handle, position):
                    return
                dialogue.answer(handle, ply, position)
            dialogue.end_games(frame)
            await self._send(dialogue.reply())

    async def _is_over(self, dialogue: Dialogue, handle: int, position: Position) -> bool:
        """Misbehave, and return whether the stream is over."""
        ply = position.ply
        match self._habit:
            case "crash":
                return True
            case "exit":
                await self._call.done_writing()
                await self._read_to_the_end()
            case "leave after a move":
                await self._send(pb.PlayRequest(moves=pb.Moves(game=[handle], ply=[ply], cell=[position.free[-1]])))
                await self._call.done_writing()
                await self._read_to_the_end()
            case "hang":
                await self._send(dialogue.reply())
                self._field.has_misbehaved.set()
                await wait_until(lambda: handle not in self._field.running)
            case "stops reading":
                await wait_until(lambda: handle not in self._field.running)
            case "half-open":
                self._link.swallow()
                await wait_until(lambda: handle not in self._field.running)
            case "endless output":
                while handle in self._field.running:
                    await self._send(pb.PlayRequest())
            case "late":
                await asyncio.sleep(2.0)
                return False
            case "off the board" | "occupied":
                moves = pb.Moves(
                    game=[handle], ply=[ply], cell=[1_000_000 if self._habit == "off the board" else ply - 1]
                )
                await self._send(pb.PlayRequest(moves=moves))
                return False
            case "large frame":
                await self._send(pb.PlayRequest(hello=pb.Hello(agent="x" * LARGEST_FROM_BOT)))
                await self._read_to_the_end()
            case "no answer":
                await self._call.write(b"hello")
                await self._read_to_the_end()
            case "uneven columns":
                await self._send(pb.PlayRequest(moves=pb.Moves(game=[handle], ply=[ply])))
                await self._read_to_the_end()
            case "unknown games":
                moves = pb.Moves(game=range(900, 1000), ply=[0] * 100, cell=[0] * 100)
                await self._send(pb.PlayRequest(moves=moves))
                await self._read_to_the_end()
            case _:
                return False
        return True

    async def _read_to_the_end(self) -> None:
        """Read until the stream ends."""
        while isinstance(await self._call.read(), pb.PlayResponse):
            pass

    async def _send(self, request: pb.PlayRequest) -> None:
        await self._call.write(request.SerializeToString())


@asynccontextmanager
async def remote_field(database: str, honest: tuple[str, ...], habit: str, time: str) -> AsyncIterator[RemoteField]:
    """Play the tournament while the block runs."""
    reconnect_timeout = RECONNECT_TIMEOUT if time == "none" else _LONG_RECONNECT_TIMEOUT
    settings = ServerSettings(listen="127.0.0.1:0", database=database, reconnect_timeout=reconnect_timeout)
    # Timed games run one at a time, so that a silent bot loses one game on time.
    tournament_settings = TournamentSettings(
        variant="mnk:5,5,5",
        time=parse_time_control(time),
        games_per_pair=1,
        concurrency=20 if time == "none" else 1,
        seed=5,
    )
    async with running_server(settings) as server:
        tournament = LocalTournament(server, tournament_settings, dict.fromkeys((LABEL, *honest), "1"))
        await tournament.create()
        field = RemoteField(server, tournament)

        def report(progress: Any, table: object) -> None:
            field.done = progress.games_done

        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(play(make_bot(parse_spec(label)), Login(server.address, tournament.ticket(label))))
                for label in honest
            ]
            running.append(tasks.create_task(field.misbehave(habit)))
            running.append(tasks.create_task(tournament.play(report)))
            yield field
            for task in running:
                task.cancel()
        server.abandon()
