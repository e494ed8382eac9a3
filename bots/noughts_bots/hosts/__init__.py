"""The program of a child that plays a plugin: `python -P -m noughts_bots.hosts KIND TARGET [key=value ...]`.

It exchanges frames on stdin and stdout (`noughts_proto.pipes`). Before any foreign code runs, the two pipes get other
descriptors: a plugin prints to stderr and reads an empty stdin.

Relative files and modules are searched in the folder NOUGHTS_FOLDER of the environment. Default: the working folder.
This module does not import grpc.
"""

import fcntl
import importlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from google.protobuf.message import DecodeError

import noughts_bots
from noughts_bots.connection.pipe_session import play_on_pipes
from noughts_bots.connection.process import tune_collector
from noughts_bots.sdk.bot import Bot
from noughts_bots.sdk.errors import BotError, BotSpecError
from noughts_proto.child_kinds import CHILD_KINDS, NOT_LOADED, VARIANTS
from noughts_proto.names import NAME
from noughts_proto.pipes import FrameTooLarge
from noughts_referee.rules import VariantError, canonical_name, is_family

FOLDER_VARIABLE = "NOUGHTS_FOLDER"
"""The environment variable with the folder in which relative files and modules of a plugin are searched."""

ENDED = 0
"""The exit code after the referee has closed the pipe."""
BROKEN_OFF = 2
"""The exit code after an invalid frame. If the bot cannot be loaded, it is `NOT_LOADED`."""

_LOWEST_DESCRIPTOR = 40
"""Higher than any descriptor that a plugin opens or closes by number."""
_VARIANTS_ADVICE = "`noughts variants` lists them; `mnk` stands for every m,n,k game"


def bot_for(kind: str, target: str, options: Mapping[str, str]) -> Bot:
    """Load the bot into this process. Its optional method `close()` is called after its last game.

    The module of this package with the name of the kind has `load(target, options) -> Bot`. Raises BotSpecError.
    """
    hosted = [child_kind.name for child_kind in CHILD_KINDS.values() if child_kind.hosted]
    if kind not in hosted:
        raise BotSpecError(f"kind {kind!r}", "an unsupported kind", f"one of {', '.join(hosted)}", "check the spec")
    if not CHILD_KINDS[kind].starts_programs:
        # The referee made the path of a file absolute; messages name it as its author typed it.
        target = target.removeprefix(f"{folder()}/")
    own_options = dict(options)
    variants = tuple(own_options.pop(VARIANTS, "").split())
    for name in variants:
        if not is_family(name):
            try:
                canonical_name(name)
            except VariantError as error:
                raise BotSpecError(
                    f"bot '{kind}:{target}', option {VARIANTS}", name, error.expected, _VARIANTS_ADVICE
                ) from None
    # Import only the module of this kind: a child needs no other.
    bot: Bot = importlib.import_module(f"{__name__}.{kind}").load(target, own_options)
    if variants:
        bot.variants = variants
    return bot


def folder() -> Path:
    """Return the folder in which relative files and modules of a plugin are searched."""
    return Path(os.environ.get(FOLDER_VARIABLE) or os.getcwd())


def main(arguments: Sequence[str]) -> int:
    """Load the bot of the arguments and play it until the referee closes the pipe. Return the exit code."""
    reading, writing = _move_frame_pipes()
    # The plugin's module can also be a program that calls `run`. It must not connect to a server here.
    vars(noughts_bots).update(run=_refuse_run, run_async=_refuse_run_async)
    try:
        if len(arguments) < 2 or not all("=" in option for option in arguments[2:]):
            got, expected = repr(" ".join(arguments)), "KIND TARGET [key=value ...]"
            raise BotSpecError("arguments", got, expected, "see `noughts bot check`")
        kind, target, *options = arguments
        bot = bot_for(kind, target, dict(option.split("=", 1) for option in options))
    except BotError as error:
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        return _fail(error, NOT_LOADED)
    tune_collector()
    name = str(getattr(bot, "name", ""))
    try:
        play_on_pipes(bot, reading, writing, name=name if NAME.fullmatch(name) else "")
    except (BrokenPipeError, ConnectionResetError):
        return ENDED  # the referee has ended or closed the pipe
    except (EOFError, FrameTooLarge, DecodeError, VariantError) as error:
        return _fail(error, BROKEN_OFF)
    finally:
        if (close := getattr(bot, "close", None)) is not None:
            close()
    return ENDED


def _refuse_run(*_: Any, **__: Any) -> None:
    """Print that `run` has no effect. It replaces `noughts_bots.run` in a process that plays a plugin."""
    note = "run() does nothing here: Noughts makes the bot that the spec names, and plays it itself; "
    print(note + 'guard the call by `if __name__ == "__main__":`', file=sys.stderr, flush=True)  # noqa: T201


async def _refuse_run_async(*_: Any, **__: Any) -> None:
    """Print that `run_async` has no effect. It replaces `noughts_bots.run_async`."""
    _refuse_run()


def _move_frame_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Move the pipes of the frames from stdin and stdout to other descriptors, and return them.

    Foreign code then gets an empty stdin, and stderr as its stdout.
    """
    reading = _high_copy(0)
    writing = _high_copy(1)
    null_device = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_device, 0)
    os.close(null_device)
    os.dup2(2, 1)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb", buffering=0)


def _high_copy(descriptor: int) -> int:
    """Return a copy of the descriptor with a high number, which the plugin's programs do not inherit."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST_DESCRIPTOR)
    except OSError:
        return os.dup(descriptor)  # The limit of descriptors is possibly lower.


def _fail(error: Exception, code: int) -> int:
    print(error, file=sys.stderr, flush=True)  # noqa: T201  # for the parent process
    return code
