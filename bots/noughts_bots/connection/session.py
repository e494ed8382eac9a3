"""A bot on a server: its dialogue with the referee over a stream, which reconnects after a failure.

Fast bots run on the event loop. A slow bot (see `Pace` in `thinking_thread`) runs in its own thread until it is fast
again, so that finished answers are sent while it thinks. A bot with `choose_batch` or `choose_arrays` gets one call per
frame and variant, in either place. A bot with `async def choose` gets a task for each question.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable

import grpc.aio

from noughts_bots.boards.interface import Questions
from noughts_bots.connection.dialogue import Dialogue
from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.stream import BotRefused as BotRefused  # also part of this module's interface
from noughts_bots.connection.stream import Login as Login
from noughts_bots.connection.stream import (
    PlayCall,
    end_of_stream,
    greet,
    keep_connecting,
    next_frame,
    open_call,
    raise_if_failed,
)
from noughts_bots.connection.thinking_thread import LONG_SECONDS, Thinker, Work
from noughts_bots.sdk.bot import Bot, chooses_asynchronously
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Position

_FLUSH_SECONDS = 0.010
"""The time after which finished answers are sent while the bot thinks about others."""


async def play(bot: Bot, login: Login, on_event: Callable[[SessionEvent], None] = lambda event: None) -> None:
    """Play until the server ends the session, and report to `on_event`. Raises BotRefused or SecurityProblem."""
    with Thinker() as thinker:
        await keep_connecting(login, on_event, lambda: _Session(bot, login, on_event, thinker))


class _Session:
    """One stream of a bot; see `Session` in `stream`."""

    def __init__(self, bot: Bot, login: Login, on_event: Callable[[SessionEvent], None], thinker: Thinker) -> None:
        self.welcomed = False
        self._thinker = thinker
        self._pace = thinker.pace
        self._is_async = chooses_asynchronously(bot)
        self._dialogue = Dialogue(bot, on_event)
        self._login = login
        self._on_event = on_event
        self._is_over = False
        """Whether the stream has ended, so that answers are no longer needed."""

    async def serve(self, channel: grpc.aio.Channel) -> None:
        """Play until the stream ends. Raises AioRpcError unless the server ended it with OK."""
        call = open_call(channel, self._login)
        try:
            with end_of_stream(call):
                hello = self._dialogue.hello(self._login.name, self._login.version)
                if self._login.seek is not None:
                    hello.hello.seek.CopyFrom(self._login.seek)
                frame = await greet(call, hello, self._on_event)
                self._dialogue.read_welcome(frame.welcome)
                self.welcomed = True
                if self._is_async:
                    await self._serve_async(call)
                else:
                    await self._serve_frames(call)
        finally:
            self._is_over = True
        await raise_if_failed(call)

    async def _serve_frames(self, call: PlayCall) -> None:
        """Serve frames on the event loop or in the thread, depending on the bot's pace."""
        frame = await next_frame(call)
        while frame is not None:
            if self._pace.slow or not self._thinker.idle:
                self._dialogue.acknowledge(frame)
                unfinished: Callable[[], None] | None = functools.partial(self._think_about, frame)
            else:
                unfinished = await self._serve_on_event_loop(call, frame)
            frame = await self._serve_in_thread(call, unfinished) if unfinished is not None else None

    async def _serve_on_event_loop(self, call: PlayCall, first: pb.PlayResponse) -> Callable[[], None] | None:
        """Serve frames on the event loop, beginning with `first`.

        Return the unfinished work if the bot becomes slow; None at the end of the stream.
        """
        frame: pb.PlayResponse | None = first
        while frame is not None:
            self._dialogue.acknowledge(frame)
            questions = self._dialogue.take(frame)
            answer_count = await self._answer(call, questions)
            if self._pace.slow:
                return functools.partial(self._think, questions.after(answer_count), frame)
            self._dialogue.end_games(frame)
            await self._flush(call)
            frame = await next_frame(call)
        return None

    async def _answer(self, call: PlayCall, questions: Questions) -> int:
        """Get answers on the event loop until the bot becomes slow. Return the number of answers."""
        if self._dialogue.in_batches:
            if questions:
                self._pace.watch(functools.partial(self._dialogue.answer_all, questions), len(questions))
            return len(questions)
        pace = self._pace
        answer = self._dialogue.answer
        clock = self._pace.wall
        flushed = before = clock()
        # The processor time is not read for each question, because this would cost more than a fast answer.
        processor_before = pace.processor()
        has_long_thought = False
        for count, (handle, ply, position) in enumerate(questions, 1):
            answer(handle, ply, position)
            now = clock()
            if now - before >= LONG_SECONDS:
                has_long_thought = True
                pace.record_long_thought(now - before, pace.processor() - processor_before)
                if pace.slow:
                    return count
            if now - flushed > _FLUSH_SECONDS:
                await self._flush(call)
                flushed = now = clock()
                processor_before = pace.processor()
            before = now
        if not has_long_thought:
            pace.record_quick_answers(len(questions))
        return len(questions)

    async def _serve_in_thread(self, call: PlayCall, unfinished: Callable[[], None]) -> pb.PlayResponse | None:
        """Let the bot think in its own thread, first about the unfinished work, and meanwhile exchange frames.

        Return the first frame for which the thread is not needed any more; None at the end of the stream.
        """
        work = Work()
        async with asyncio.TaskGroup() as group:
            flusher = group.create_task(self._flush_thoughts(call, work))
            self._thinker.put(unfinished, work)
            while (frame := await next_frame(call)) is not None:
                if not self._pace.slow and self._thinker.idle:
                    break
                self._dialogue.acknowledge(frame)
                work.wakeup.set()
                self._thinker.put(functools.partial(self._think_about, frame), work)
            if frame is None:
                flusher.cancel()
            else:
                # Do not cancel the flusher: it can be writing, and cancelling a write would end the stream.
                work.is_complete = True
                work.wakeup.set()
        return frame

    async def _flush_thoughts(self, call: PlayCall, work: Work) -> None:
        """Send finished answers and acknowledgements until the work is over. Raise the error of a failed task."""
        while not work.is_complete:
            # While the bot thinks, look for finished answers from time to time. (This is not `wait_for`, which before
            # Python 3.12 loses a cancellation that arrives together with the wakeup.)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_SECONDS if work.unfinished else None):
                    await work.wakeup.wait()
            must_flush = work.wakeup.is_set() or self._dialogue.has_answers
            work.wakeup.clear()
            if work.failure is not None:
                raise work.failure
            if must_flush:
                await self._flush(call)

    def _think_about(self, frame: pb.PlayResponse) -> None:
        """Handle a whole frame. Runs in the thread."""
        if not self._is_over:
            self._think(self._dialogue.take(frame), frame)

    def _think(self, questions: Questions, frame: pb.PlayResponse) -> None:
        """Answer a frame's questions and handle its ends. Runs in the thread."""
        if self._dialogue.in_batches:
            if questions:
                self._pace.watch(functools.partial(self._dialogue.answer_all, questions), len(questions))
        else:
            for question in questions:
                if self._is_over:
                    return
                self._pace.watch(functools.partial(self._dialogue.answer, *question))
        self._dialogue.end_games(frame)

    async def _serve_async(self, call: PlayCall) -> None:
        """Start a task for each question, and send answers as they arrive."""
        wakeup = asyncio.Event()

        async def answer(question: tuple[int, int, Position]) -> None:
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
