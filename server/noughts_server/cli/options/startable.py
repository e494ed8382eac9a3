"""Checks of bots that run in child processes, before anything is started: their files, programs and options."""

import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from noughts_bots.gomocup.options import EngineOptions
from noughts_bots.reference.specs import BotSpec, connects_itself, shell_word, speech
from noughts_bots.sdk.errors import BotSpecError
from noughts_proto.child_kinds import CHILD_KINDS, module_and_class
from noughts_referee.children.unsandboxed import ALLOWED, sandbox_refusal
from noughts_server.launching.command import engine_command
from noughts_server.launching.launcher import SandboxMode

DIAL_YOURSELF = "run it yourself, with NOUGHTS_SERVER and NOUGHTS_TOKEN set: it connects to the server by itself"
TRY_A_MATCH = "try it in a match against `random`, which shows what is wrong"
"""Advice for a program that connects by itself, in commands that cannot use one."""


class _Compiled(NamedTuple):
    """The format of a compiled bot's file."""

    noun: str
    expected: str
    magic_numbers: frozenset[bytes]
    """The possible first four bytes of the file."""


_MAC = ("cffaedfe", "cefaedfe", "feedfacf", "feedface", "cafebabe")
_COMPILED = {
    "wasm": _Compiled("module", "a WebAssembly module", frozenset({b"\0asm"})),
    "dll": _Compiled("library", "a shared library", frozenset({b"\x7fELF", *map(bytes.fromhex, _MAC)})),
}
"""The kinds whose target is a compiled file."""
_RELATIVE_PATH_NOTE = {True: "", False: ", which starts at this folder"}
"""The end of a sentence about a path, by whether the path is absolute."""


def check_startable(spec: BotSpec, sandbox_mode: SandboxMode) -> bool:
    """Return whether the bot runs in a child process.

    Raises BotSpecError for a program that cannot run, or not in the sandbox, and for a file that is missing or has
    another format. The child process checks the rest of a file when it loads it, before the first game.
    """
    kind = spec.child_kind
    if kind is None:
        return False
    if kind.starts_programs:
        _check_command(spec, sandbox_mode)
    elif kind.target == "file":
        _check_compiled(spec)
    elif (file := module_and_class(spec.target)[0]).endswith(".py"):
        _check_file(spec, file)
    return True


def engine_options(spec: BotSpec) -> EngineOptions | None:
    """Return the options in the spec of an engine; None for other kinds. Raises BotSpecError."""
    return engine_command(spec)[1] if spec.is_engine else None


def require_startable(spec: BotSpec, sandbox_mode: SandboxMode) -> BotSpec:
    """Return the spec. Raises BotSpecError as `check_startable` does, and for a bot that needs no child process."""
    if not check_startable(spec, sandbox_mode):
        advice = "reference bots and language models need no check; a registered bot plays where it is logged in"
        raise BotSpecError(f"bot {str(spec)!r}", f"kind {spec.kind}", f"one of {', '.join(CHILD_KINDS)}", advice)
    return spec


def require_frames_on_pipes(spec: BotSpec, advice: str) -> None:
    """Raise BotSpecError for a program that connects by itself, because nothing listens here."""
    if connects_itself(spec):
        expected = "one that plays on its standard input and output"
        raise BotSpecError(f"bot {str(spec)!r}", "a program that connects by itself", expected, advice)


def _check_command(spec: BotSpec, sandbox_mode: SandboxMode) -> None:
    # Raise BotSpecError for wrong options.
    speech(spec)
    engine_options(spec)
    subject = f"bot {str(spec)!r}"
    try:
        program, *_ = shlex.split(spec.target)
    except ValueError as error:
        advice = f"quote the whole spec in a shell: '{spec.kind}:python my_bot.py'"
        raise BotSpecError(subject, f"a command with {str(error).lower()}", "one whose quotes match", advice) from error
    executable = shutil.which(program)
    if executable is None:
        place = f"that it is in PATH, or write ./{program}"
        if "/" in program:
            place = f"check the path{_RELATIVE_PATH_NOTE[Path(program).is_absolute()]}"
        advice = f"check that {program} exists and that it is executable (chmod +x), and {place}"
        if program != spec.target and shutil.which(spec.target) is not None:
            advice = f"quote the path with spaces: {shell_word(f'{spec.kind}:{shlex.quote(spec.target)}')}"
        raise BotSpecError(subject, f"program {program!r}", "one that can be run", advice)
    if sandbox_mode is not SandboxMode.OFF and (obstacle := sandbox_refusal([executable])):
        advice = 'run it without the sandbox: --no-lock; docs/how-to/operations.md, section "The sandbox", says why'
        raise BotSpecError(subject, obstacle, ALLOWED, advice)


def _check_file(spec: BotSpec, file: str) -> None:
    path = Path(file).expanduser()
    if not path.is_file():
        got = f"{path.absolute()}, which is {'a folder' if path.is_dir() else 'not a file'}"
        raise BotSpecError(
            f"bot {str(spec)!r}", got, "a file", f"check the path{_RELATIVE_PATH_NOTE[path.is_absolute()]}"
        )


def _check_compiled(spec: BotSpec) -> None:
    file_format = _COMPILED[spec.kind]
    _check_file(spec, spec.target)
    with open(Path(spec.target).expanduser(), "rb") as file:
        if file.read(4) not in file_format.magic_numbers:
            advice = "compile one: see `noughts bot header`; a Python class is py:FILE.py:CLASS, a program exec:COMMAND"
            raise BotSpecError(
                f"bot {str(spec)!r}", f"a file that is not a {file_format.noun}", file_format.expected, advice
            )
