"""The command that starts a bot as a child: it converts the bot's spec to the `ChildCommand` that launchers take."""

import os
import shlex
from collections.abc import Sequence

from noughts_bots.gomocup.options import EngineOptions, read_options
from noughts_bots.reference.specs import BotSpec, speech
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.children.command import resolve
from noughts_referee.children.launcher import ChildCommand

_OVERHEAD_BYTES = 1 << 30
"""Memory for the stacks, threads and code of an engine, and for a virtual machine, in addition to its own limit."""


def child_command(spec: BotSpec, *, memory_bytes: int = 0, cores: tuple[int, ...] = ()) -> ChildCommand:
    """Return the command of a bot that speaks frames. Raises BotSpecError for unknown options of a program."""
    hosted = spec.child_kind is None or spec.child_kind.hosted
    return ChildCommand(
        kind=spec.kind,
        target=spec.target,
        options=spec.options if hosted else {},
        speech=speech(spec),
        memory_bytes=memory_bytes,
        cores=cores,
    )


def engine_command(
    spec: BotSpec, *, memory_bytes: int = 0, cores: tuple[int, ...] = ()
) -> tuple[ChildCommand, EngineOptions]:
    """Return the command of an engine, with absolute paths, and the options of the engine. Raises BotSpecError.

    Without `memory_bytes`, the limit follows from the memory that the options let the engine use.
    """
    subject = f"bot {str(spec)!r}"
    options = read_options(spec.options, subject)
    try:
        words = resolve(ChildCommand(spec.kind, spec.target)).words
    except ValueError as error:
        raise BotSpecError(subject, str(error).lower(), "a command in shell syntax", "check its quotes") from None
    folder = _own_folder(words) if options.in_own_folder else None
    memory = memory_bytes or options.memory_bytes + _OVERHEAD_BYTES
    return ChildCommand(spec.kind, shlex.join(words), folder=folder, memory_bytes=memory, cores=cores), options


def _own_folder(words: Sequence[str]) -> str:
    """Return the folder of the engine, also for `wine ./engine.exe` and `/usr/bin/java -jar engine.jar`.

    If the program is in a folder `bin`, it is taken for an interpreter, and the first file among its arguments for the
    engine.
    """
    program, *arguments = words
    folder = os.path.dirname(program)
    files = [word for word in arguments if os.path.isabs(word) and os.path.isfile(word)]
    return os.path.dirname(files[0]) if files and os.path.basename(folder) == "bin" else folder
