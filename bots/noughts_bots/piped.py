"""A bot that the referee has started: its dialogue over two pipes, in the one thread that it has.

Nothing here imports grpc: a child must be there within milliseconds.
"""

import time
from typing import BinaryIO

from noughts_bots.bot import Bot
from noughts_bots.dialogue import Dialogue
from noughts_proto.pipes import LARGEST_DOWN, packed, read_message
from noughts_proto.v1 import play_pb2 as pb

# Answers leave after this long at the latest while the bot thinks about the other games of a frame.
_FLUSH_SECONDS = 0.010


def play_on_pipes(bot: Bot, reading: BinaryIO, writing: BinaryIO, *, name: str = "", version: str = "") -> None:
    """Plays until the referee closes the pipe. `reading` is buffered, `writing` is not.

    A bot with `async def choose` cannot be played so. Raises EOFError, FrameTooLarge, and OSError when the referee has
    gone.
    """
    dialogue = Dialogue(bot, lambda event: None)
    writing.write(packed(dialogue.hello(name, version).SerializeToString()))
    while (message := read_message(reading, LARGEST_DOWN)) is not None:
        frame = pb.PlayResponse.FromString(message)
        dialogue.acknowledge(frame)
        flushed = time.perf_counter()
        for handle, ply, position in dialogue.take(frame):
            dialogue.answer(handle, ply, position)
            if time.perf_counter() - flushed > _FLUSH_SECONDS:
                writing.write(packed(dialogue.reply().SerializeToString()))
                flushed = time.perf_counter()
        dialogue.end_games(frame)
        writing.write(packed(dialogue.reply().SerializeToString()))
