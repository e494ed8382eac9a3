"""A bot's connection to a server: dials in, takes frames apart, answers, comes back after a failure.

Quick bots are asked on the event loop, one straight loop over a frame. A bot that has once thought for longer than
`_LONG_THOUGHT_SECONDS` is moved to a thread of its own, so that finished answers leave while the next move is being thought
about. A bot with `async def choose` gets a task for each question.
"""

import asyncio
import contextlib
import inspect
import logging
import operator
import queue
import random
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import grpc
import grpc.aio

from noughts_bots.bot import Bot, GameEnd, GameInfo
from noughts_proto.transport import CLIENT_OPTIONS, PROTOCOL, TOKEN_KEY
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import play_pb2_grpc
from noughts_referee.rules import Position, Result, Termination, parse_variant

logger = logging.getLogger("noughts.bot")

_LONG_THOUGHT_SECONDS = 0.020
_FLUSH_SECONDS = 0.010
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
# Coming back helps against these; anything else is an answer that will not change.
_PASSING = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}

PlayCall = grpc.aio.StreamStreamCall[pb.PlayRequest, pb.PlayResponse]


class BotRefused(Exception):
    """The server does not want this bot: `code` is the gRPC status, the text says why and what to do."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Login:
    """Where a bot plays, and as whom."""

    server: str
    """HOST:PORT."""
    token: str
    """An owner's token or a one-time ticket."""
    name: str = ""
    version: str = ""
    tls: bool = False
    reconnect: bool = True


def _nothing(event: str) -> None:
    """The default listener."""


def run(bot: Bot, login: Login, on_event: Callable[[str], None] = _nothing) -> None:
    """Plays until the server ends the session or the program is interrupted. Raises BotRefused."""
    asyncio.run(play(bot, login, on_event))


async def play(bot: Bot, login: Login, on_event: Callable[[str], None] = _nothing) -> None:
    """As `run`, inside a running event loop. `on_event` gets a line for people when something changes."""
    wait = _FIRST_WAIT
    while True:
        session = _Session(bot, login, on_event)
        try:
            async with _channel(login) as channel:
                await session.serve(channel)
            return
        except grpc.aio.AioRpcError as error:
            if error.code() not in _PASSING or not login.reconnect:
                raise BotRefused(error.code(), error.details() or error.code().name) from error
            if session.welcomed:
                wait = _FIRST_WAIT
            on_event(f"connection lost ({error.details()}); trying again in {wait:.1f} s")
        await asyncio.sleep(wait * random.uniform(0.5, 1.0))
        wait = min(wait * 2, _LONGEST_WAIT)


@contextlib.asynccontextmanager
async def _channel(login: Login) -> AsyncIterator[grpc.aio.Channel]:
    if login.tls:
        channel = grpc.aio.secure_channel(login.server, grpc.ssl_channel_credentials(), options=CLIENT_OPTIONS)
    else:
        channel = grpc.aio.insecure_channel(login.server, options=CLIENT_OPTIONS)
    async with channel:
        yield channel


class _Game:
    """A running game: the position, and what the hooks need."""

    __slots__ = ("info", "position")

    def __init__(self, info: GameInfo | None, position: Position) -> None:
        self.info = info
        self.position = position


_Question = tuple[int, int, _Game]
_Answer = tuple[int, int, int | None]
_Taken = tuple[list[_Question], pb.PlayResponse]
_Task = tuple[Callable[[], _Taken], Callable[[pb.PlayResponse], None]]


class _Session:
    """One stream."""

    def __init__(self, bot: Bot, login: Login, on_event: Callable[[str], None]) -> None:
        self.welcomed = False
        self._bot = bot
        self._login = login
        self._on_event = on_event
        self._games: dict[int, _Game] = {}
        self._hears_start = type(bot).start is not Bot.start
        self._hears_end = type(bot).end is not Bot.end
        self._wants_info = self._hears_start or self._hears_end
        self._done_through = 0
        self._answers: list[_Answer] = []
        self._heartbeat = 0

    async def serve(self, channel: grpc.aio.Channel) -> None:
        stub = play_pb2_grpc.PlayServiceStub(channel)
        call: PlayCall = stub.Play(metadata=((TOKEN_KEY, f"Bearer {self._login.token}"),))
        try:
            await self._greet(call)
            if inspect.iscoroutinefunction(self._bot.choose):
                await self._serve_async(call)
            else:
                await self._serve_quick(call)
            _raise_if_failed(await call.code(), await call.details())
        except asyncio.InvalidStateError as error:  # the call ended between a read and a write
            _raise_if_failed(await call.code(), await call.details())
            raise RuntimeError("the stream ended without a status") from error

    async def _greet(self, call: PlayCall) -> None:
        bot = self._bot
        hello = pb.Hello(
            protocol=PROTOCOL,
            bot=self._login.name,
            version=self._login.version,
            max_games=bot.max_games,
            variants=bot.variants,
            agent=f"noughts-python/{_software()} {type(bot).__name__}",
        )
        await call.write(pb.PlayRequest(hello=hello))
        first = await call.read()
        if first is grpc.aio.EOF:
            _raise_if_failed(await call.code(), await call.details())
            raise BotRefused(grpc.StatusCode.UNKNOWN, "the server ended the session without a welcome")
        assert isinstance(first, pb.PlayResponse)
        self.welcomed = True
        self._on_event(f"online as {first.welcome.version}")

    # Three ways to think.

    async def _serve_quick(self, call: PlayCall) -> None:
        """On the event loop, until a single move takes long; then in a thread."""
        async for frame in _frames(call):
            self._acknowledge(frame)
            questions = self._take(frame)
            flushed = before = time.perf_counter()
            for index, (handle, ply, game) in enumerate(questions):
                self._answers.append((handle, ply, self._choose(game)))
                now = time.perf_counter()
                if now - before > _LONG_THOUGHT_SECONDS:
                    return await self._serve_in_thread(call, questions[index + 1 :], frame)
                if now - flushed > _FLUSH_SECONDS:
                    await self._flush(call)
                    flushed = now = time.perf_counter()
                before = now
            self._end_games(frame)
            await self._flush(call)
        return None

    async def _serve_in_thread(self, call: PlayCall, left: list[_Question], frame: pb.PlayResponse) -> None:
        """The bot thinks in its own thread; this loop keeps talking to the referee."""
        thinker = _Thinker(self._choose, self._answers)
        thinker.put(lambda: (left, frame), self._end_games)
        try:
            async with asyncio.TaskGroup() as group:
                flusher = group.create_task(self._flush_thoughts(call, thinker))
                async for next_frame in _frames(call):
                    self._acknowledge(next_frame)
                    thinker.wakeup.set()
                    thinker.put(lambda frame=next_frame: (self._take(frame), frame), self._end_games)  # type: ignore[misc]
                flusher.cancel()
        finally:
            thinker.stop()

    async def _flush_thoughts(self, call: PlayCall, thinker: "_Thinker") -> None:
        while True:
            # While the bot thinks about the next move, the answers it already has leave in small batches.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(thinker.wakeup.wait(), None if thinker.idle else _FLUSH_SECONDS)
            due = thinker.wakeup.is_set() or self._answers
            thinker.wakeup.clear()
            if thinker.failure is not None:
                raise thinker.failure
            if due:
                await self._flush(call)

    async def _serve_async(self, call: PlayCall) -> None:
        """A task for each question; answers leave as they come."""
        wakeup = asyncio.Event()

        async def answer(question: _Question) -> None:
            handle, ply, game = question
            cell = await self._choose_async(game)
            self._answers.append((handle, ply, cell))
            wakeup.set()

        async def flush() -> None:
            while True:
                await wakeup.wait()
                wakeup.clear()
                await self._flush(call)

        async with asyncio.TaskGroup() as group:
            flusher = group.create_task(flush())
            thinking: set[asyncio.Task[None]] = set()
            async for frame in _frames(call):
                self._acknowledge(frame)
                wakeup.set()
                for question in self._take(frame):
                    task = group.create_task(answer(question))
                    thinking.add(task)
                    task.add_done_callback(thinking.discard)
                self._end_games(frame)
            for task in (flusher, *thinking):
                task.cancel()

    # Frames.

    def _take(self, frame: pb.PlayResponse) -> list[_Question]:
        """Begins the frame's games and returns its questions, with the positions brought up to date."""
        for starts in frame.starts:
            self._start_games(starts)
        games = self._games
        questions: list[_Question] = []
        turns = frame.turns
        for handle, ply, cell in zip(turns.game, turns.ply, turns.cell, strict=True):
            game = games[handle]
            position = game.position
            if len(position.moves) < ply:
                position.play(cell)
            questions.append((handle, ply, game))
        return questions

    def _acknowledge(self, frame: pb.PlayResponse) -> None:
        if frame.frame:
            self._done_through = frame.frame
        if frame.heartbeat.id:
            self._heartbeat = frame.heartbeat.id
        for status in frame.statuses:
            logger.warning("the referee complains: %s", status.message)
            self._on_event(f"the referee complains: {status.message}")

    def _start_games(self, starts: pb.Starts) -> None:
        variant = parse_variant(starts.variant)
        games = self._games
        moves = list(starts.moves)
        taken = 0
        for handle, number, side, seed, opponent, count in zip(
            starts.game,
            starts.number,
            starts.side,
            starts.seed,
            starts.opponent,
            starts.move_count,
            strict=True,
        ):
            position = Position(variant, seed=seed)
            if count:
                for cell in moves[taken : taken + count]:
                    position.play(cell)
                taken += count
            info = None
            if self._wants_info:
                name = f"{starts.tournament}/games/{number}"
                info = GameInfo(name, variant, side - 1, starts.opponents[opponent])
                if self._hears_start:
                    self._bot.start(info)
            games[handle] = _Game(info, position)

    def _end_games(self, frame: pb.PlayResponse) -> None:
        ends = frame.ends
        if not self._hears_end:
            for handle in ends.game:
                self._games.pop(handle, None)
            return
        for handle, result, termination, plies, cell in zip(
            ends.game, ends.result, ends.termination, ends.plies, ends.cell, strict=True
        ):
            game = self._games.pop(handle, None)
            if game is not None and game.info is not None:
                moves = game.position.moves
                if len(moves) < plies:
                    moves.append(cell)
                end = GameEnd(Result(result), Termination(termination), tuple(moves[:plies]))
                self._bot.end(game.info, end)

    async def _flush(self, call: PlayCall) -> None:
        """Sends what has been answered, the acknowledgement and the echo."""
        request = pb.PlayRequest(done_through=self._done_through)
        if self._heartbeat:
            request.heartbeat.id = self._heartbeat
            self._heartbeat = 0
        if self._answers:
            # A thread may be appending: take what is there now, leave the rest.
            answers = self._answers[:]
            del self._answers[: len(answers)]
            resigned = [row for row, (_, _, cell) in enumerate(answers) if cell is None]
            games, plies, cells = zip(*answers, strict=True)
            request.moves.game.extend(games)
            request.moves.ply.extend(plies)
            if resigned:
                cells = tuple(cell or 0 for cell in cells)
                request.moves.resigned.extend(resigned)
            request.moves.cell.extend(cells)
        await call.write(request)

    # Moves.

    def _choose(self, game: _Game) -> int | None:
        """The bot's move, which is also played on the position; None if the bot failed, which resigns the game."""
        position = game.position
        try:
            return _played(position, self._bot.choose(position))  # type: ignore[arg-type]  # checked there
        except Exception:
            logger.exception("the bot failed on %s and resigns", position)
            return None

    async def _choose_async(self, game: _Game) -> int | None:
        position = game.position
        try:
            chosen = self._bot.choose(position)
            return _played(position, await chosen if isinstance(chosen, Awaitable) else chosen)
        except Exception:
            logger.exception("the bot failed on %s and resigns", position)
            return None


def _played(position: Position, cell: int) -> int:
    # Whatever is not a number of a cell must not reach the columns, which hold unsigned numbers only.
    cell = operator.index(cell)
    if not 0 <= cell < position.variant.cells:
        return _OFF_BOARD
    position.play(cell)
    return cell


_OFF_BOARD = 0xFFFFFFFF


class _Thinker:
    """A thread in which a slow bot answers one frame after the other."""

    def __init__(self, choose: Callable[[_Game], int | None], answers: list[_Answer]) -> None:
        self.wakeup = asyncio.Event()
        """Set on the loop when a frame is answered, or the thread has failed."""
        self.failure: BaseException | None = None
        self._choose = choose
        self._answers = answers
        self._loop = asyncio.get_running_loop()
        self._frames: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._open = 0
        # The loop waits for the interpreter while the bot thinks; 5 ms, the default, is long for a message.
        sys.setswitchinterval(0.0005)
        threading.Thread(target=self._run, name="noughts-bot", daemon=True).start()

    @property
    def idle(self) -> bool:
        """Whether every frame has been answered."""
        return self._open == 0

    def put(self, questions: Callable[[], _Taken], end: Callable[[pb.PlayResponse], None]) -> None:
        """Queues a frame: `questions` takes it apart in the thread, `end` is called with it afterwards."""
        self._open += 1
        self._frames.put((questions, end))

    def stop(self) -> None:
        """No more frames; the thread ends when it has answered those it has."""
        self._frames.put(None)

    def _run(self) -> None:
        try:
            while (task := self._frames.get()) is not None:
                questions, end = task
                taken, frame = questions()
                for handle, ply, game in taken:
                    self._answers.append((handle, ply, self._choose(game)))
                end(frame)
                self._loop.call_soon_threadsafe(self._answered)
        except BaseException as error:
            self.failure = error
            self._loop.call_soon_threadsafe(self.wakeup.set)

    def _answered(self) -> None:
        self._open -= 1
        self.wakeup.set()


async def _frames(call: PlayCall) -> AsyncIterator[pb.PlayResponse]:
    while (frame := await call.read()) is not grpc.aio.EOF:
        assert isinstance(frame, pb.PlayResponse)
        yield frame


def _raise_if_failed(code: grpc.StatusCode, details: str) -> None:
    if code is not grpc.StatusCode.OK:
        metadata = grpc.aio.Metadata()
        raise grpc.aio.AioRpcError(code, metadata, metadata, details=details)


def _software() -> str:
    try:
        return version("noughts")
    except PackageNotFoundError:
        return "unknown"
