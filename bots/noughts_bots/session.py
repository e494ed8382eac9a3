"""A bot at a server: its dialogue with the referee over a stream, which is dialled again after a failure.

Quick bots are asked on the event loop, one straight loop over a frame. A bot that has once thought for longer than
`_LONG_THOUGHT_SECONDS` is moved to a thread of its own, so that finished answers leave while the next move is being
thought about. A bot with `async def choose` gets a task for each question.
"""

import asyncio
import contextlib
import functools
import inspect
import time
from collections.abc import Callable

import grpc.aio

from noughts_bots.bot import Bot
from noughts_bots.dialogue import Dialogue, Question
from noughts_bots.events import SessionEvent
from noughts_bots.stream import BotRefused as BotRefused  # a name of this module, too
from noughts_bots.stream import Login as Login
from noughts_bots.stream import PlayCall, end_of_stream, greet, keep_dialling, next_frame, open_call, raise_if_failed
from noughts_bots.thinker import Thinker, Work
from noughts_proto.v1 import play_pb2 as pb

_LONG_THOUGHT_SECONDS = 0.020
_FLUSH_SECONDS = 0.010


def _nothing(event: SessionEvent) -> None:
    """The default listener."""


async def play(bot: Bot, login: Login, on_event: Callable[[SessionEvent], None] = _nothing) -> None:
    """Plays until the server ends the session. Raises BotRefused, SecurityProblem.

    `on_event` is told when something changes.
    """
    with Thinker() as thinker:
        await keep_dialling(login, on_event, lambda: _Session(bot, login, on_event, thinker))


class _Session:
    """One stream."""

    def __init__(self, bot: Bot, login: Login, on_event: Callable[[SessionEvent], None], thinker: Thinker) -> None:
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
        call = open_call(channel, self._login)
        try:
            with end_of_stream(call):
                await greet(call, self._dialogue.hello(self._login.name, self._login.version), self._on_event)
                self.welcomed = True
                if self._is_async:
                    await self._serve_async(call)
                elif self._thinker.started:
                    await self._serve_in_thread(call)
                else:
                    await self._serve_quick(call)
        finally:
            self._over = True
        await raise_if_failed(call)

    # Three ways to think.

    async def _serve_quick(self, call: PlayCall) -> None:
        """On the event loop, until a single move takes long; then in a thread."""
        clock = time.perf_counter
        while (frame := await next_frame(call)) is not None:
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
            while (frame := await next_frame(call)) is not None:
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
            while (frame := await next_frame(call)) is not None:
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
