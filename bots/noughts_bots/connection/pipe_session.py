"""A bot that the referee has started: its dialogue over two pipes, in a single thread.

This module does not import grpc, because a child must start within milliseconds.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, BinaryIO

from noughts_bots.boards.interface import Questions
from noughts_bots.connection.dialogue import Dialogue
from noughts_bots.sdk.bot import Bot, chooses_asynchronously
from noughts_proto.pipes import LARGEST_TO_BOT, packed, read_message
from noughts_proto.v1 import play_pb2 as pb

if TYPE_CHECKING:
    import asyncio

_FLUSH_SECONDS = 0.010
"""The time after which finished answers are sent while the bot thinks about other games of a frame."""
_FEW_QUESTIONS = 64
"""In a frame with more questions, the first half of the answers, and at least this number, is sent early.

Otherwise the bot, the referee and the opponent would work only one at a time.
"""


def play_on_pipes(bot: Bot, reading: BinaryIO, writing: BinaryIO, *, name: str = "", version: str = "") -> None:
    """Play until the referee closes the pipe. `reading` is buffered, `writing` is not.

    A bot with `async def choose` thinks about all questions of a frame at the same time, and its event loop runs only
    meanwhile. Its answers to a frame are sent together, as are those of `choose_batch`.

    Raises EOFError, FrameTooLarge, DecodeError or VariantError for invalid frames, OSError if the referee has closed
    its end, and TypeError for `async def choose_batch`.
    """
    dialogue = Dialogue(bot, lambda event: None)

    def flush() -> None:
        writing.write(packed(dialogue.reply().SerializeToString()))

    writing.write(packed(dialogue.hello(name, version).SerializeToString()))
    with _loop(bot) as loop:
        while (message := read_message(reading, LARGEST_TO_BOT)) is not None:
            frame = pb.PlayResponse.FromString(message)
            if frame.HasField("welcome"):
                dialogue.read_welcome(frame.welcome)
            dialogue.acknowledge(frame)
            questions = dialogue.take(frame)
            if dialogue.in_batches:
                dialogue.answer_all(questions)
            elif loop is None:
                _answer(dialogue, questions, flush)
            elif questions:
                loop.run(_answer_together(dialogue, questions))
            dialogue.end_games(frame)
            flush()


def _loop(bot: Bot) -> "AbstractContextManager[asyncio.Runner | None]":
    """Return an event loop for a bot with `async def choose`, otherwise None. Other bots need no import of asyncio."""
    if not chooses_asynchronously(bot):
        return nullcontext()
    import asyncio

    return asyncio.Runner()


def _answer(dialogue: Dialogue, questions: Questions, flush: Callable[[], None]) -> None:
    """Answer the questions one by one, and send finished answers meanwhile."""
    first_part = max(_FEW_QUESTIONS, (len(questions) + 1) // 2)
    flushed = time.perf_counter()
    for count, (handle, ply, position) in enumerate(questions, 1):
        dialogue.answer(handle, ply, position)
        if count == first_part or time.perf_counter() - flushed > _FLUSH_SECONDS:
            flush()
            flushed = time.perf_counter()


async def _answer_together(dialogue: Dialogue, questions: Questions) -> None:
    import asyncio

    async with asyncio.TaskGroup() as tasks:
        for question in questions:
            tasks.create_task(dialogue.answer_async(*question))
