"""A bot that the referee has started: its dialogue over two pipes, in the one thread that it has.

Nothing here imports grpc: a child must be there within milliseconds.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, BinaryIO

from noughts_bots.bot import Bot, chooses_asynchronously
from noughts_bots.dialogue import Dialogue, Questions
from noughts_proto.pipes import LARGEST_DOWN, packed, read_message
from noughts_proto.v1 import play_pb2 as pb

if TYPE_CHECKING:
    import asyncio

# Answers leave after this long at the latest while the bot thinks about the other games of a frame.
_FLUSH_SECONDS = 0.010
# Of a larger frame half the answers leave early: with all of them at once, of the bot, the referee and the opponent
# only one would have something to do at a time.
_FEW_QUESTIONS = 64


def play_on_pipes(bot: Bot, reading: BinaryIO, writing: BinaryIO, *, name: str = "", version: str = "") -> None:
    """Plays until the referee closes the pipe. `reading` is buffered, `writing` is not.

    A bot with `async def choose` thinks about all questions of a frame at once, and the answers leave together; its
    event loop stands still between two frames. The answers of one with `choose_batch` leave together, too.
    Raises EOFError, FrameTooLarge, DecodeError and VariantError for frames that cannot be read, OSError when the
    referee has gone, and TypeError for `async def choose_batch`.
    """
    dialogue = Dialogue(bot, lambda event: None)

    def flush() -> None:
        writing.write(packed(dialogue.reply().SerializeToString()))

    writing.write(packed(dialogue.hello(name, version).SerializeToString()))
    with _loop(bot) as loop:
        while (message := read_message(reading, LARGEST_DOWN)) is not None:
            frame = pb.PlayResponse.FromString(message)
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
    """The event loop of a bot that needs one; the others must not pay for loading it."""
    if not chooses_asynchronously(bot):
        return nullcontext()
    import asyncio

    return asyncio.Runner()


def _answer(dialogue: Dialogue, questions: Questions, flush: Callable[[], None]) -> None:
    at_once = max(_FEW_QUESTIONS, (len(questions) + 1) // 2)
    flushed = time.perf_counter()
    for count, (handle, ply, position) in enumerate(questions, 1):
        dialogue.answer(handle, ply, position)
        if count == at_once or time.perf_counter() - flushed > _FLUSH_SECONDS:
            flush()
            flushed = time.perf_counter()


async def _answer_together(dialogue: Dialogue, questions: Questions) -> None:
    import asyncio

    async with asyncio.TaskGroup() as thoughts:
        for question in questions:
            thoughts.create_task(dialogue.answer_async(*question))
