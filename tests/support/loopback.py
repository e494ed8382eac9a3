"""A small real server on a loopback port (a referee, its connections, PlayService), and bots that send raw frames."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Self, cast

import grpc
import grpc.aio
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from noughts_proto.transport import CLIENT_OPTIONS, SERVER_OPTIONS, TOKEN_KEY
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import play_pb2_grpc
from noughts_referee.frame_connection import FrameConnection, WireCounts, WireSettings
from noughts_referee.referee import Referee
from noughts_referee.stream_closed import StreamClosed
from noughts_referee.work_units import FinishedGame
from tests.support.games import Question
from tests.support.leaping_loop import loop_microseconds
from tests.support.patience import PATIENCE

PlayContext = grpc.aio.ServicerContext[pb.PlayRequest, pb.PlayResponse]

TOKEN = "let-me-in"

Move = tuple[int, int, int]
"""Game, ply, cell."""


class Loopback(play_pb2_grpc.PlayServiceServicer):
    """A server of games without a store. The bot `bot-N` is the player with key N."""

    def __init__(self, settings: WireSettings, margin_us: int) -> None:
        self._server = grpc.aio.server(options=SERVER_OPTIONS)
        play_pb2_grpc.add_PlayServiceServicer_to_server(self, self._server)
        self.port = 0
        self.settings = settings
        self.finished: list[FinishedGame] = []
        self.referee = Referee(self.finished.extend, margin_us=margin_us)
        self.counts = WireCounts()
        self.failures: list[BaseException] = []
        """Errors while a stream was served."""
        self.agents: dict[int, str] = {}
        """The client software that each bot's hello names, by player."""
        self._wires: dict[int, FrameConnection] = {}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self, port: int) -> None:
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        await self._server.start()

    async def stop(self) -> None:
        """Stop the server and cut off all streams."""
        await self._server.stop(None)

    def wire(self, key: int) -> FrameConnection:
        wire = self._wires.get(key)
        if wire is None:
            player = self.referee.player(key)
            wire = self._wires[key] = FrameConnection(player, self.referee, self.settings, self.counts)
        return wire

    async def finished_games(self, games: int) -> list[FinishedGame]:
        """Wait until this number of games is finished, and return them; fail if there are more."""
        await wait_until(lambda: len(self.finished) >= games)
        assert len(self.finished) == games
        return self.finished

    async def Play(  # type: ignore[override]  # written with the context's read and write
        self, request_iterator: AsyncIterator[pb.PlayRequest], context: PlayContext
    ) -> None:
        metadata = dict(context.invocation_metadata() or ())
        if metadata.get(TOKEN_KEY) != f"Bearer {TOKEN}":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "this token is not known here: ask for a new one")
        hello = (await context.read()).hello
        key = int(hello.bot.removeprefix("bot-"))
        self.agents[key] = hello.agent
        try:
            welcome = pb.Welcome(bot=f"bots/{hello.bot}", version=f"bots/{hello.bot}/versions/{hello.version or 1}")
            await self.wire(key).serve(context, welcome, hello.max_games, prepares=hello.prepares)
        except StreamClosed as closed:
            details = (("grpc-status-details-bin", closed.status.SerializeToString()),)
            await context.abort(closed.code, str(closed), trailing_metadata=details)
        except Exception as error:
            self.failures.append(error)
            raise


@asynccontextmanager
async def loopback(
    *,
    port: int = 0,
    heartbeat: float = 5.0,
    reconnect_timeout: float = 30.0,
    margin_us: int = 50_000,
    network_cap_us: int = 0,
) -> AsyncIterator[Loopback]:
    """Run the server inside the block; fail if tasks or threads of the server or its bots remain afterwards."""
    tasks_before = other_tasks()
    service = Loopback(
        WireSettings(heartbeat, reconnect_timeout, loop_microseconds, network_cap_us=network_cap_us), margin_us
    )
    await service.start(port)
    try:
        yield service
    finally:
        await service.stop()
    assert service.failures == []
    try:
        await wait_until(lambda: other_tasks() <= tasks_before)
    except TimeoutError:
        remaining = "\n".join(f"{task!r}" for task in other_tasks() - tasks_before)
        raise AssertionError(f"tasks that do not end:\n{remaining}") from None
    await wait_until(lambda: not any(thread.name == "noughts-bot" for thread in threading.enumerate()))


def other_tasks() -> set["asyncio.Task[Any]"]:
    """Return all tasks of the loop except the current one, and those in which gRPC waits for the status of a call.

    On a busy machine gRPC sometimes gets no status of a call that was made while its server stopped.
    """
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    return {task for task in tasks if "_handle_status_once_received" not in repr(task)}


async def wait_until(condition: Callable[[], object]) -> None:
    """Return as soon as the condition holds; fail after `PATIENCE`."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # what the tests wait for sets no event
            await asyncio.sleep(0.001)


class RawBot:
    """A bot's end of one stream, which the test reads and writes frame by frame."""

    def __init__(self, call: "grpc.aio.StreamStreamCall[pb.PlayRequest, pb.PlayResponse]") -> None:
        self.call = call
        self.welcome = pb.PlayResponse()
        self._arrived: asyncio.Queue[pb.PlayResponse | grpc.aio.AioRpcError | None] = asyncio.Queue()

    async def pump(self) -> None:
        """Read all frames into a queue, because cancelling a read would end the call."""
        try:
            while True:
                frame: object = await self.call.read()
                if not isinstance(frame, pb.PlayResponse):
                    break
                self._arrived.put_nowait(frame)
            self._arrived.put_nowait(None)
        except grpc.aio.AioRpcError as error:
            self._arrived.put_nowait(error)

    async def next_frame(self) -> pb.PlayResponse:
        """Return the next frame. Raises AioRpcError or EOFError if the stream has ended."""
        async with asyncio.timeout(PATIENCE):
            frame = await self._arrived.get()
        if frame is None:
            raise EOFError("the server has ended the stream")
        if isinstance(frame, grpc.aio.AioRpcError):
            raise frame
        return frame

    async def next_numbered_frame(self) -> pb.PlayResponse:
        """Return the next numbered frame; skip heartbeats and statuses."""
        while not (frame := await self.next_frame()).frame:
            pass
        return frame

    async def next_acknowledged_frame(self) -> pb.PlayResponse:
        """Return the next numbered frame, and acknowledge it."""
        frame = await self.next_numbered_frame()
        await self.send(done=frame.frame)
        return frame

    async def next_questions(self) -> list[Question]:
        """Return the questions of the next numbered frame that has any; acknowledge all frames up to it."""
        while not (questions := turns(await self.next_acknowledged_frame())):
            pass
        return questions

    async def stays_quiet(self, seconds: float) -> bool:
        """Return whether no numbered frame arrives for these seconds."""
        try:
            async with asyncio.timeout(seconds):
                while not (await self._arrived.get() or pb.PlayResponse()).frame:  # type: ignore[union-attr]
                    pass
        except TimeoutError:
            return True
        return False

    async def refusal(self, *, echo: bool = False) -> tuple[grpc.StatusCode, str]:
        """Return the code and reason with which the server ends the stream; skip earlier frames."""
        try:
            while True:
                frame = await self.next_frame()
                if echo and frame.heartbeat.id:
                    await self.send(heartbeat=frame.heartbeat.id)
        except grpc.aio.AioRpcError as error:
            return error.code(), reason(error)

    async def send(self, *moves: Move, done: int = 0, resigned: Iterable[int] = (), heartbeat: int = 0) -> None:
        """Send one frame to the server."""
        request = pb.PlayRequest(done_through=done)
        if moves:
            games, plies, cells = zip(*moves, strict=True)
            request.moves.MergeFrom(pb.Moves(game=games, ply=plies, cell=cells, resigned=resigned))
        if heartbeat:
            request.heartbeat.id = heartbeat
        await self.call.write(request)


@asynccontextmanager
async def raw_bot(
    server: Loopback, key: int, *, max_games: int = 0, prepares: bool = False, port: int | None = None
) -> AsyncIterator[RawBot]:
    """A bot that is logged in while the block runs; then its stream is cut off."""
    address = f"127.0.0.1:{port or server.port}"
    async with grpc.aio.insecure_channel(address, options=CLIENT_OPTIONS) as channel, asyncio.TaskGroup() as tasks:
        call = play_pb2_grpc.PlayServiceStub(channel).Play(metadata=((TOKEN_KEY, f"Bearer {TOKEN}"),))
        hello = pb.Hello(protocol=1, bot=f"bot-{key}", max_games=max_games, prepares=prepares)
        await call.write(pb.PlayRequest(hello=hello))
        bot = RawBot(call)
        pump = tasks.create_task(bot.pump())
        try:
            bot.welcome = await bot.next_frame()
            yield bot
        finally:
            call.cancel()
            pump.cancel()


class Link:
    """A TCP relay between bots and a server, which can lose, delay and cut connections."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self._target = port
        self._ends: set[asyncio.StreamWriter] = set()
        self._refuses = False
        self._swallows = False
        self._flowing = asyncio.Event()
        self._flowing.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._ends |= {writer, far_writer}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._copy(reader, far_writer))
                tasks.create_task(self._copy(far_reader, writer))
        finally:
            self._ends -= {writer, far_writer}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self._flowing.wait()
                if self._swallows:
                    continue
                writer.write(data)
                await writer.drain()
        except (OSError, RuntimeError):  # the other direction has closed the connection
            pass
        finally:
            writer.transport.abort()

    def refuse(self) -> None:
        """Break new connections at once, until the link is restored."""
        self._refuses = True

    def swallow(self) -> None:
        """Drop all packets, and report it to neither end."""
        self._swallows = True

    def stall(self) -> None:
        """Deliver nothing until the link is restored; lose nothing."""
        self._flowing.clear()

    def restore(self) -> None:
        """Deliver all packets from now on."""
        self._refuses = False
        self._swallows = False
        self._flowing.set()

    def half_close(self) -> None:
        """Close one direction of every connection."""
        for writer in list(self._ends)[::2]:
            if not writer.transport.is_closing():
                writer.write_eof()

    def cut(self) -> None:
        """Break all connections; new ones can be made."""
        for writer in self._ends:
            writer.transport.abort()


@asynccontextmanager
async def link_to(port: int) -> AsyncIterator[Link]:
    """A link with a port of its own to the server at this port."""
    link = Link(port)
    listener = await asyncio.start_server(link.carry, "127.0.0.1", 0)
    link.port = listener.sockets[0].getsockname()[1]
    try:
        yield link
    finally:
        link.cut()
        listener.close()
        await listener.wait_closed()


class ScriptedContext:
    """The server's end of a stream without a network: the test sends the requests and can block writes."""

    def __init__(self) -> None:
        self.written: list[pb.PlayResponse] = []
        self.flowing = asyncio.Event()
        """Writes wait while this is not set, as for a bot that does not read."""
        self.flowing.set()
        self._sent: asyncio.Queue[pb.PlayRequest | None] = asyncio.Queue()

    async def read(self) -> pb.PlayRequest | None:
        return await self._sent.get()

    async def write(self, frame: pb.PlayResponse) -> None:
        copy = pb.PlayResponse()
        copy.CopyFrom(frame)
        await self.flowing.wait()
        self.written.append(copy)

    def send(self, request: pb.PlayRequest) -> Self:
        self._sent.put_nowait(request)
        return self

    def leave(self) -> Self:
        """End the stream as the bot."""
        self._sent.put_nowait(None)
        return self


def turns(frame: pb.PlayResponse) -> list[Question]:
    """Return the questions of a frame."""
    rows = zip(frame.turns.game, frame.turns.ply, frame.turns.cell, strict=True)
    return [Question(*row) for row in rows]


def reason(error: grpc.aio.AioRpcError) -> str:
    """Return the machine-readable reason in an error's details."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            return error_info(Status.FromString(value)).reason
    return ""


def error_info(status: Status) -> ErrorInfo:
    """Return the ErrorInfo that each status of the server has."""
    info = ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "noughts"
    return info


async def serve_scripted(wire: FrameConnection, context: ScriptedContext) -> str | None:
    """Serve a scripted stream; return the reason if the referee closed it, or else None."""
    try:
        await wire.serve(cast("PlayContext", context), pb.PlayResponse().welcome, 0)
    except StreamClosed as closed:
        return error_info(closed.status).reason
    return None


class ScriptedService(play_pb2_grpc.PlayServiceServicer):
    """A server that sends a welcome and then runs the script of a test."""

    def __init__(self, script: Callable[[PlayContext], Awaitable[None]]) -> None:
        self._script = script

    async def Play(  # type: ignore[override]  # written with the context's read and write
        self, request_iterator: AsyncIterator[pb.PlayRequest], context: PlayContext
    ) -> None:
        await context.read()
        await context.write(pb.PlayResponse(welcome=pb.Welcome(version="bots/scripted/versions/1")))
        await self._script(context)


@asynccontextmanager
async def scripted_server(script: Callable[[PlayContext], Awaitable[None]]) -> AsyncIterator[int]:
    """Run a server with this script; the block gets its port."""
    server = grpc.aio.server(options=SERVER_OPTIONS)
    play_pb2_grpc.add_PlayServiceServicer_to_server(ScriptedService(script), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)
