"""A bot's connection to a server: dials in, carries its dialogue with the referee, comes back after a failure.

Quick bots are asked on the event loop, one straight loop over a frame. A bot that has once thought for longer than
`_LONG_THOUGHT_SECONDS` is moved to a thread of its own, so that finished answers leave while the next move is being
thought about. A bot with `async def choose` gets a task for each question.
"""

import asyncio
import contextlib
import functools
import inspect
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import grpc
import grpc.aio

from noughts_bots.bot import Bot
from noughts_bots.dialogue import Dialogue, Question
from noughts_bots.thinker import Thinker, Work
from noughts_proto.security import Dialling, failed_handshake, why_hung_up
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import play_pb2_grpc

_LONG_THOUGHT_SECONDS = 0.020
_FLUSH_SECONDS = 0.010
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
_SHORT_SESSION_SECONDS = 0.2
# What grpc.aio says of a stream that the server ended, with whatever status, while the bot was writing.
_WRITTEN_TOO_LATE = "Internal error from Core"
# Coming back helps against these; anything else is an answer that will not change.
_PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
}

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
    dialling: Dialling = field(default_factory=Dialling)
    reconnect: bool = True


def _nothing(event: str) -> None:
    """The default listener."""


async def play(bot: Bot, login: Login, on_event: Callable[[str], None] = _nothing) -> None:
    """Plays until the server ends the session. Raises BotRefused, SecurityProblem.

    `on_event` gets a line for people when something changes.
    """
    login.dialling.check(login.server, login.token)
    wait = _FIRST_WAIT
    with Thinker() as thinker:
        while True:
            session = _Session(bot, login, on_event, thinker)
            began = time.monotonic()
            try:
                async with login.dialling.async_channel(login.server) as channel:
                    await session.serve(channel)
                return
            except grpc.aio.AioRpcError as error:
                details = error.details() or ""
                if problem := failed_handshake(login.server, details):
                    raise problem from error
                if error.code() not in _PASSING or not login.reconnect:
                    raise BotRefused(error.code(), error.details() or error.code().name) from error
                # A server that ends every session at once must not be asked ten times a second.
                lasted = time.monotonic() - began > _SHORT_SESSION_SECONDS
                if session.welcomed and (lasted or error.details() == _WRITTEN_TOO_LATE):
                    wait = _FIRST_WAIT
                if not session.welcomed and (reason := why_hung_up(details)):
                    details += f"; {reason}"
                on_event(f"connection lost ({details}); trying again in {wait:.1f} s")
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(wait * 2, _LONGEST_WAIT)


class _Session:
    """One stream."""

    def __init__(self, bot: Bot, login: Login, on_event: Callable[[str], None], thinker: Thinker) -> None:
        self.welcomed = False
        self._thinker = thinker
        self._is_async = inspect.iscoroutinefunction(bot.choose)
        self._dialogue = Dialogue(bot, on_event)
        self._login = login
        self._on_event = on_event
        self._over = False
        """The stream has ended: nobody waits for answers any more."""

    async def serve(self, channel: grpc.aio.Channel) -> None:
        """Plays until the stream ends. Raises AioRpcError unless the server ended it with OK."""
        stub = play_pb2_grpc.PlayServiceStub(channel)
        call: PlayCall = stub.Play(metadata=((TOKEN_KEY, f"Bearer {self._login.token}"),))
        try:
            with _end_of_stream(call):
                await self._greet(call)
                if self._is_async:
                    await self._serve_async(call)
                elif self._thinker.started:
                    await self._serve_in_thread(call)
                else:
                    await self._serve_quick(call)
        finally:
            self._over = True
        await _raise_if_failed(call)

    async def _greet(self, call: PlayCall) -> None:
        await call.write(self._dialogue.hello(self._login.name, self._login.version))
        first = await _next_frame(call)
        if first is None:
            await _raise_if_failed(call)
            raise BotRefused(grpc.StatusCode.UNKNOWN, "the server ended the session without a welcome")
        self.welcomed = True
        self._on_event(f"online as {first.welcome.version}")
        if first.welcome.waits_for:
            names = ", ".join(first.welcome.waits_for)
            self._on_event(f"another version of this bot is entered in {names}: this one waits until that is over")

    # Three ways to think.

    async def _serve_quick(self, call: PlayCall) -> None:
        """On the event loop, until a single move takes long; then in a thread."""
        clock = time.perf_counter
        while (frame := await _next_frame(call)) is not None:
            self._dialogue.acknowledge(frame)
            questions = self._dialogue.take(frame)
            answer = self._dialogue.answer
            flushed = before = clock()
            for index, (handle, ply, position) in enumerate(questions):
                answer(handle, ply, position)
                now = clock()
                if now - before > _LONG_THOUGHT_SECONDS:
                    self._thinker.start()
                    left = functools.partial(self._think, questions[index + 1 :], frame)
                    return await self._serve_in_thread(call, left)
                if now - flushed > _FLUSH_SECONDS:
                    await self._flush(call)
                    flushed = now = clock()
                before = now
            self._dialogue.end_games(frame)
            await self._flush(call)
        return None

    async def _serve_in_thread(self, call: PlayCall, unfinished: Callable[[], None] | None = None) -> None:
        """The bot thinks in its own thread; this loop keeps talking to the referee."""
        work = Work()
        async with asyncio.TaskGroup() as group:
            flusher = group.create_task(self._flush_thoughts(call, work))
            if unfinished is not None:
                self._thinker.put(unfinished, work)
            while (frame := await _next_frame(call)) is not None:
                self._dialogue.acknowledge(frame)
                work.wakeup.set()
                self._thinker.put(functools.partial(self._think_about, frame), work)
            flusher.cancel()

    async def _flush_thoughts(self, call: PlayCall, work: Work) -> None:
        while True:
            # While the bot thinks about the next move, the answers it already has leave in small batches.
            # (Not `wait_for`: before Python 3.12 it loses a cancellation that comes together with the wakeup.)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_SECONDS if work.open else None):
                    await work.wakeup.wait()
            due = work.wakeup.is_set() or self._dialogue.has_answers
            work.wakeup.clear()
            if work.failure is not None:
                raise work.failure
            if due:
                await self._flush(call)

    def _think_about(self, frame: pb.PlayResponse) -> None:
        """In the thread: a frame from its start to its end."""
        if not self._over:
            self._think(self._dialogue.take(frame), frame)

    def _think(self, questions: list[Question], frame: pb.PlayResponse) -> None:
        """In the thread: a frame's questions, and what comes after them."""
        for handle, ply, position in questions:
            if self._over:
                return
            self._dialogue.answer(handle, ply, position)
        self._dialogue.end_games(frame)

    async def _serve_async(self, call: PlayCall) -> None:
        """A task for each question; answers leave as they come."""
        wakeup = asyncio.Event()

        async def answer(question: Question) -> None:
            await self._dialogue.answer_async(*question)
            wakeup.set()

        async def flush() -> None:
            while True:
                await wakeup.wait()
                wakeup.clear()
                await self._flush(call)

        async with asyncio.TaskGroup() as group:
            flusher = group.create_task(flush())
            thinking: set[asyncio.Task[None]] = set()
            while (frame := await _next_frame(call)) is not None:
                self._dialogue.acknowledge(frame)
                wakeup.set()
                for question in self._dialogue.take(frame):
                    task = group.create_task(answer(question))
                    thinking.add(task)
                    task.add_done_callback(thinking.discard)
                self._dialogue.end_games(frame)
            for task in (flusher, *thinking):
                task.cancel()

    async def _flush(self, call: PlayCall) -> None:
        await call.write(self._dialogue.reply())


async def _next_frame(call: PlayCall) -> pb.PlayResponse | None:
    """The referee's next frame; None when it has ended the stream with OK."""
    frame: object = await call.read()
    return frame if isinstance(frame, pb.PlayResponse) else None


@contextlib.contextmanager
def _end_of_stream(call: PlayCall) -> Iterator[None]:
    """Lets pass what a stream that has ended makes of reading and writing; its status says what it was."""
    ended = (grpc.aio.AioRpcError, asyncio.InvalidStateError)
    try:
        yield
    except ended:
        if not call.done():
            raise
    except BaseExceptionGroup as group:
        # Not `except*`: it wraps what is raised in it in some releases of Python 3.11.
        if group.split(ended)[1] is not None or not call.done():
            raise


async def _raise_if_failed(call: PlayCall) -> None:
    code = await call.code()
    if code is not grpc.StatusCode.OK:
        trailing = grpc.aio.Metadata.from_tuple(tuple(await call.trailing_metadata() or ()))
        raise grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details=await call.details())
