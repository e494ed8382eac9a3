"""A bot at a server: its dialogue with the referee over a stream, which is dialled again after a failure.

Quick bots are asked on the event loop, one straight loop over a frame. A bot that turns out slow
(`thinking_thread.Pace` says when) thinks in a thread of its own until it is quick again, so that finished answers leave
while the next move is being thought about. A bot with `choose_batch` is asked once a frame and variant, in either
place; one with `async def choose` gets a task for each question.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable

import grpc.aio

from noughts_bots.bot import Bot, chooses_asynchronously
from noughts_bots.dialogue import Dialogue, Question, Questions
from noughts_bots.events import SessionEvent
from noughts_bots.stream import BotRefused as BotRefused  # a name of this module, too
from noughts_bots.stream import Login as Login
from noughts_bots.stream import PlayCall, end_of_stream, greet, keep_dialling, next_frame, open_call, raise_if_failed
from noughts_bots.thinking_thread import LONG_SECONDS, Thinker, Work
from noughts_proto.v1 import play_pb2 as pb

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
        self._pace = thinker.pace
        self._is_async = chooses_asynchronously(bot)
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
                else:
                    await self._serve_frames(call)
        finally:
            self._over = True
        await raise_if_failed(call)

    # Three ways to think.

    async def _serve_frames(self, call: PlayCall) -> None:
        """On the event loop or in the thread, wherever the bot belongs by now."""
        frame = await next_frame(call)
        while frame is not None:
            if self._pace.slow or not self._thinker.idle:
                self._dialogue.acknowledge(frame)
                unfinished: Callable[[], None] | None = functools.partial(self._think_about, frame)
            else:
                unfinished = await self._serve_quick(call, frame)
            frame = await self._serve_in_thread(call, unfinished) if unfinished is not None else None

    async def _serve_quick(self, call: PlayCall, first: pb.PlayResponse) -> Callable[[], None] | None:
        """On the event loop, from this frame on.

        Returns what is left to be thought about when the bot turns out slow, None at the end of the stream.
        """
        frame: pb.PlayResponse | None = first
        while frame is not None:
            self._dialogue.acknowledge(frame)
            questions = self._dialogue.take(frame)
            answered = await self._answer(call, questions)
            if self._pace.slow:
                return functools.partial(self._think, questions.after(answered), frame)
            self._dialogue.end_games(frame)
            await self._flush(call)
            frame = await next_frame(call)
        return None

    async def _answer(self, call: PlayCall, questions: Questions) -> int:
        """Asks the bot until it turns out slow; returns how many it has answered."""
        if self._dialogue.in_batches:
            if questions:
                self._pace.watch(functools.partial(self._dialogue.answer_all, questions), len(questions))
            return len(questions)
        pace, answer, clock = self._pace, self._dialogue.answer, self._pace.wall
        flushed = before = clock()
        # Not at each question: that would cost more than a quick answer.
        spent = pace.processor()
        all_quick = True
        for count, (handle, ply, position) in enumerate(questions, 1):
            answer(handle, ply, position)
            now = clock()
            if now - before >= LONG_SECONDS:
                all_quick = False
                pace.long_thought(now - before, pace.processor() - spent)
                if pace.slow:
                    return count
            if now - flushed > _FLUSH_SECONDS:
                await self._flush(call)
                flushed = now = clock()
                spent = pace.processor()
            before = now
        if all_quick:
            pace.quick_answers(len(questions))
        return len(questions)

    async def _serve_in_thread(self, call: PlayCall, unfinished: Callable[[], None]) -> pb.PlayResponse | None:
        """The bot thinks in its own thread, at first about what is unfinished; this loop keeps talking to the referee.

        Returns the first frame for which it need not do that any more, None at the end of the stream.
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
                # It may be writing, and a write that is cancelled ends the stream.
                work.over = True
                work.wakeup.set()
        return frame

    async def _flush_thoughts(self, call: PlayCall, work: Work) -> None:
        while not work.over:
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

    def _think(self, questions: Questions, frame: pb.PlayResponse) -> None:
        """In the thread: a frame's questions, and what comes after them."""
        if self._dialogue.in_batches:
            if questions:
                self._pace.watch(functools.partial(self._dialogue.answer_all, questions), len(questions))
        else:
            for question in questions:
                if self._over:
                    return
                self._pace.watch(functools.partial(self._dialogue.answer, *question))
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
