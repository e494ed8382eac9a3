"""The program of a child that plays a plugin: `python -m noughts_bots.hosts KIND TARGET [key=value ...]`.

It speaks frames on its stdin and stdout (`noughts_proto.pipes`). Before any foreign code runs, those are moved away.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from noughts_bots.bot import Bot
from noughts_bots.errors import BotError, BotSpecError
from noughts_bots.piped import play_on_pipes

FOLDER_VARIABLE = "NOUGHTS_FOLDER"
"""Where relative files and modules of a plugin are looked for."""


def bot_for(kind: str, target: str, options: Mapping[str, str]) -> Bot:
    """Loads the bot into this process. It may have a method `close()`. Raises BotSpecError."""
    if kind != "gomocup":
        raise BotSpecError(f"kind {kind!r}", "no program that hosts it", "gomocup", "look at the spec")
    from noughts_bots.hosts.gomocup import load

    return load(target, options)


def folder() -> Path:
    """Where relative files and modules of a plugin are looked for."""
    return Path(os.environ.get(FOLDER_VARIABLE) or os.getcwd())


def main(arguments: Sequence[str]) -> int:
    """Loads the bot that the arguments name and plays it until the referee closes the pipe. Returns the exit code."""
    down, up = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    kind, target, *written = arguments
    try:
        bot = bot_for(kind, target, dict(option.split("=", 1) for option in written))
    except BotError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    try:
        with os.fdopen(down, "rb") as reading, os.fdopen(up, "wb", buffering=0) as writing:
            play_on_pipes(bot, reading, writing)
    finally:
        if (close := getattr(bot, "close", None)) is not None:
            close()
    return 0
