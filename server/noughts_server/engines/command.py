"""The command of the spec `gomocup{...}:COMMAND`."""

import os
import shlex
from collections.abc import Sequence

from noughts_bots.gomocup.options import EngineOptions, read_options
from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.children.command import resolve
from noughts_referee.children.launcher import ChildCommand

_ROOM_BYTES = 1 << 30
"""Allowed above the memory limit that the engine gets: for its stacks, threads, code, and a virtual machine."""


def engine_command(spec: BotSpec, cores: Sequence[int] = ()) -> tuple[ChildCommand, EngineOptions]:
    """Return the command, with absolute paths, and the options of its engine. Raises BotSpecError."""
    subject = f"bot {str(spec)!r}"
    options = read_options(spec.options, subject)
    try:
        words = resolve(ChildCommand(spec.kind, spec.target)).words
    except ValueError as error:
        raise BotSpecError(subject, str(error).lower(), "a command in shell syntax", "check its quotes") from None
    folder = _own_folder(words) if options.in_own_folder else None
    memory = options.memory_bytes + _ROOM_BYTES
    return ChildCommand(spec.kind, shlex.join(words), folder=folder, memory_bytes=memory, cores=tuple(cores)), options


def _own_folder(words: Sequence[str]) -> str:
    """Return the folder of the engine, also for `wine ./engine.exe` and `/usr/bin/java -jar engine.jar`."""
    program, *arguments = words
    folder = os.path.dirname(program)
    files = [word for word in arguments if os.path.isabs(word) and os.path.isfile(word)]
    return os.path.dirname(files[0]) if files and os.path.basename(folder) == "bin" else folder
