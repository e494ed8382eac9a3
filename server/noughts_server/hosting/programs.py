"""Submitted programs as files: examined in a sandboxed process, unpacked, and named by a spec.

Only that process parses untrusted data: `python -m noughts_server.hosting.programs FILE REQUEST` unpacks a zip file and
reads source code within its own limits, and prints the result. The server unpacks accepted programs.
"""

import ast
import asyncio
import io
import json
import os
import resource
import shlex
import signal
import stat
import sys
import tempfile
import zipfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from noughts_bots.reference.specs import BotSpec
from noughts_proto.interpreter import python
from noughts_referee.children.launcher import ChildCommand, Launcher
from noughts_referee.children.pipe_frames import Tail
from noughts_referee.children.scratch import remove_tree
from noughts_server.core.errors import InvalidArgument, MachineExhausted

WASM, PY = "wasm", "py"
KINDS = (WASM, PY)
"""The kinds that can be submitted. Native code and commands cannot."""
UNPACKED_BYTES = 64 << 20
"""Limit for a folder that is submitted as a zip file."""
UNPACKED_FILES = 1_000
"""Limit for its files and folders."""
# Limits for one Python file, and for all of them; parsing takes several hundred times as much memory.
SOURCE_FILE_BYTES = 256 << 10
SOURCE_BYTES = 1 << 20

FOLDER_PREFIX = "one-"
"""The prefix of programs' folders, the same in trials and games, so that a bot cannot tell them apart."""

_NOUGHTS_PACKAGES = ("noughts_bots", "noughts_referee", "noughts_proto")
_REFUSED = frozenset(
    {
        *("ctypes", "_ctypes", "cffi", "fcntl", "resource", "pty", "webbrowser", "pip", "ensurepip", "venv"),
        *("socket", "_socket", "socketserver", "ssl", "http", "urllib", "xmlrpc", "ftplib", "smtplib", "imaplib"),
        *("poplib", "telnetlib", "nntplib", "subprocess", "_posixsubprocess", "multiprocessing", "concurrent"),
    }
)
"""Modules of the standard library for networks, processes and native code.

The sandbox also blocks what they do, but only during a game.
"""
_ZIP, _WASM_MAGIC = b"PK\x03\x04", b"\0asm"
_LONGEST_PATH = _LONGEST_CLASS = 200
_PIECE_BYTES = 64 << 10
_MODULE = "bot.py"
# Limits of the child that examines a program: processor seconds and bytes of memory.
_EXAMINE_SECONDS = 10
_EXAMINE_BYTES = 512 << 20
_EXAMINATIONS = 3
"""Attempts to examine a program if the child is killed meanwhile."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program as its owner has submitted it."""

    kind: str
    """One of `KINDS`."""
    entry: str
    """The class of a Python bot as its owner named it, `FILE.py:CLASS` or a part of that; can be empty."""
    content: bytes


async def examine_and_place(
    program: Program, folder: Path, launcher: Launcher, packages: Iterable[str] = ()
) -> tuple[BotSpec, str]:
    """Have a child examine a program, and write it to the folder. Return the bot's spec and full entry.

    Raises InvalidArgument for an invalid program; the program itself does not run.
    """
    file = folder / "submitted"
    await asyncio.to_thread(file.write_bytes, program.content)
    entry = await examine_in_child(launcher, program.kind, program.entry, file, packages)
    file.unlink()
    return await asyncio.to_thread(place, program.kind, entry, program.content, folder / "bot"), entry


def open_for_passage(folder: str | Path) -> None:
    """Let the child processes of other users enter a folder without listing it."""
    os.chmod(folder, stat.S_IRWXU | stat.S_IXGRP | stat.S_IXOTH)  # noqa: S103  # a folder whose files are as private as before


@asynccontextmanager
async def program_folder(parent: Path) -> AsyncIterator[Path]:
    """Yield a folder for one program, which the child processes of other users can enter.

    A thread removes the folder, because a busy disk needs seconds for a thousand files.
    """
    folder = tempfile.mkdtemp(dir=parent, prefix=FOLDER_PREFIX)
    try:
        open_for_passage(folder)
        yield Path(folder)
    finally:
        await asyncio.to_thread(remove_tree, folder)


async def examine_in_child(launcher: Launcher, kind: str, entry: str, file: Path, packages: Iterable[str] = ()) -> str:
    """Have a child examine the program in this file; return the bot's full entry, empty for WebAssembly.

    `packages` are those that a Python program can import in addition to the standard library. Raises InvalidArgument
    for an invalid program; the program itself does not run.
    """
    request = json.dumps({"kind": kind, "entry": entry, "packages": sorted(packages)})
    for _ in range(_EXAMINATIONS):
        answer = await _answer_of_child(launcher, file, request)
        if answer is not None:
            if "refused" in answer:
                raise InvalidArgument.of(*answer["refused"], hint=answer["hint"], agent_hint=answer["agent_hint"])
            if "errno" in answer:
                raise OSError(answer["errno"], os.strerror(answer["errno"]))
            return str(answer["entry"])
    raise _too_much()


async def _answer_of_child(launcher: Launcher, file: Path, request: str) -> dict[str, Any] | None:
    """Return the result of a child; None if something else killed it, for example the kernel for lack of memory."""
    line = shlex.join(python("-m", "noughts_server.hosting.programs", str(file), request))
    child = await launcher.start(ChildCommand("exec", line))
    os.close(child.stdin)
    output, errors = Tail(child.stdout), Tail(child.stderr)
    try:
        code = await child.wait()
    finally:
        child.kill(signal.SIGKILL)
        output.close()
        errors.close()
    if code == 0:
        answer: dict[str, Any] = json.loads(output.text)
        return answer
    if code > 0:
        raise RuntimeError(f"the child that examines programs ended with exit code {code}: {errors.text}")
    if code == -signal.SIGKILL and not child.ended_for and child.processor_seconds < _EXAMINE_SECONDS - 1:
        return None
    raise _too_much()


def main(arguments: list[str]) -> int:
    """Examine the file named by the first argument; the second is the request as JSON. Print the result as JSON."""
    resource.setrlimit(resource.RLIMIT_CPU, (_EXAMINE_SECONDS, _EXAMINE_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_EXAMINE_BYTES, _EXAMINE_BYTES))
    file = arguments[0]
    request = json.loads(arguments[1])
    content = Path(file).read_bytes()
    try:
        entry = examine(request["kind"], request["entry"], content, Path("bot").absolute(), request["packages"])
        answer: dict[str, object] = {"entry": entry}
    except OSError as failure:
        if MachineExhausted.of(failure) is None:
            raise
        answer = {"errno": failure.errno}
    except (InvalidArgument, MemoryError) as failure:
        error = failure if isinstance(failure, InvalidArgument) else _too_much()
        answer = {
            "refused": (error.subject, error.got, error.expected),
            "hint": error.hint,
            "agent_hint": error.agent_hint,
        }
    sys.stdout.write(json.dumps(answer))
    return 0


def examine(kind: str, entry: str, content: bytes, folder: Path, packages: Iterable[str] = ()) -> str:
    """Return the full entry of a program. Only for the child, because its author controls the time and memory it takes.

    A zip file is unpacked into the folder. Raises InvalidArgument, MemoryError.
    """
    return _PROGRAMS[kind].examine(entry, content, folder, packages)


def place(kind: str, entry: str, content: bytes, folder: Path) -> BotSpec:
    """Write an examined program into its own empty folder; return the bot's spec."""
    folder.mkdir(parents=True, exist_ok=True)
    return BotSpec(None, kind, str(_PROGRAMS[kind].place(entry, content, folder)))


class _Program(Protocol):
    """The handling of one kind of programs."""

    def examine(self, entry: str, content: bytes, folder: Path, packages: Iterable[str]) -> str: ...

    def place(self, entry: str, content: bytes, folder: Path) -> Path:
        """Write the program into this folder, which exists; return the target of the bot's spec."""


class _Module:
    """A WebAssembly module."""

    def examine(self, entry: str, content: bytes, folder: Path, packages: Iterable[str]) -> str:
        if not content.startswith(_WASM_MAGIC):
            got = f"a file that begins with {content[:8]!r}"
            raise InvalidArgument.of("chunk", got, "a WebAssembly module", hint="Build it for wasm32.")
        if entry:
            raise InvalidArgument.of("submission.entry", entry, "none: a module must export noughts_bot")
        return ""

    def place(self, entry: str, content: bytes, folder: Path) -> Path:
        file = folder / "bot.wasm"
        file.write_bytes(content)
        return file


class _Python:
    """A Python file, or a zip file with several."""

    def examine(self, entry: str, content: bytes, folder: Path, packages: Iterable[str]) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        self.place(entry, content, folder)
        return _check_python(folder, entry, frozenset(packages))

    def place(self, entry: str, content: bytes, folder: Path) -> Path:
        if content.startswith(_ZIP):
            _unpack(content, folder)
        else:
            (folder / _MODULE).write_bytes(content)
        return folder / entry


_PROGRAMS: dict[str, _Program] = {WASM: _Module(), PY: _Python()}


def _unpack(content: bytes, folder: Path) -> None:
    """Unpack a zip file. Raises InvalidArgument if it is invalid or too large, or has paths outside the folder."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(member, _safe_path(member)) for member in archive.infolist()]
            folders = {parent for _, path in members for parent in path.parents if parent.parts}
            if len(members) + len(folders) > UNPACKED_FILES:
                got = f"{len(members):,} files in {len(folders):,} folders"
                raise _bad(got, f"at most {UNPACKED_FILES:,} files and folders")
            bytes_left = UNPACKED_BYTES
            for member, path in members:
                if member.is_dir():
                    continue
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                # The declared size of a file can be wrong, so the unpacked bytes count.
                with archive.open(member) as packed, target.open("wb") as unpacked:
                    while data := packed.read(_PIECE_BYTES):
                        bytes_left -= len(data)
                        if bytes_left < 0:
                            raise _bad(f"more than {UNPACKED_BYTES:,} bytes when it is unpacked", "less")
                        unpacked.write(data)
    except InvalidArgument:
        raise
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        if MachineExhausted.of(error):
            raise  # The author's file is not the cause.
        reason = error.strerror if isinstance(error, OSError) else error  # without paths of this machine
        raise _bad(f"one that cannot be unpacked ({reason})", "a complete zip file, without a password") from None
    except Exception as error:  # raised by compression modules
        raise _bad(f"one that cannot be unpacked ({type(error).__name__})", "a complete zip file") from None


def _safe_path(member: zipfile.ZipInfo) -> PurePosixPath:
    name = member.filename
    path = PurePosixPath(name)
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _bad(f"{name!r}, which is neither a file nor a folder", "files and folders only")
    leads_out = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not path.parts
    if leads_out or len(name) > _LONGEST_PATH or not name.isprintable():
        raise _bad(f"the path {name[:_LONGEST_PATH]!r}", "relative paths in the folder, made up of ordinary characters")
    return path


def _too_much() -> InvalidArgument:
    limits = f"one that can be read in {_EXAMINE_SECONDS} s of processor time and {_EXAMINE_BYTES >> 20} MiB of memory"
    return InvalidArgument.of("chunk", "a program that cannot", limits, hint="Shorten its source, or its zip file.")


def _bad(got: str, expected: str) -> InvalidArgument:
    return InvalidArgument.of("zip", got, expected)


def _check_python(folder: Path, entry: str, packages: frozenset[str]) -> str:
    """Return the entry `FILE.py:CLASS`. Raises InvalidArgument for invalid code, a forbidden import or no bot."""
    files = sorted(file for file in folder.rglob("*.py") if file.is_file())
    _check_sizes(files, folder)
    own = {file.relative_to(folder).parts[0].removesuffix(".py") for file in files}
    for file in files:
        for name, line in _imports(_parse(file, folder)):
            _check_import(name, f"{file.relative_to(folder)}:{line}", own, packages)
    file_name, _, class_name = entry.rpartition(":")
    file = folder / (file_name or _MODULE)
    if file not in files:
        got = f"no file {file_name or _MODULE}"
        hint = f"Call it {_MODULE}, or say where the bot is: --class FILE.py:CLASS"
        raise InvalidArgument.of("submission.entry", got, "the bot's file in the folder", hint=hint)
    classes = list(_bot_classes(_parse(file, folder)))
    if not class_name:
        if len(classes) != 1:
            got = f"{len(classes)} classes that are bots" + (f" ({', '.join(classes)})" if classes else "")
            hint = "Write `class Mine(Bot)`, or say which: --class FILE.py:CLASS"
            agent_hint = "Write `class Mine(Bot)`, or pass the name of the class as `entry`"
            expected = f"one in {file_name or _MODULE}"
            raise InvalidArgument.of("submission.entry", got, expected, hint=hint, agent_hint=agent_hint)
        (class_name,) = classes
    if len(class_name) > _LONGEST_CLASS:
        raise InvalidArgument.of(
            "submission.entry", class_name, f"a class whose name has at most {_LONGEST_CLASS} characters"
        )
    return f"{file.relative_to(folder)}:{class_name}"


def _check_sizes(files: list[Path], folder: Path) -> None:
    sizes = {file: file.stat().st_size for file in files}
    largest = max(sizes, key=sizes.__getitem__, default=folder)
    if sizes.get(largest, 0) > SOURCE_FILE_BYTES:
        got = f"{sizes[largest]:,} bytes of Python in {largest.relative_to(folder)}"
        hint = "Put tables and weights into a data file next to it."
        raise InvalidArgument.of("chunk", got, f"at most {SOURCE_FILE_BYTES:,} per file", hint=hint)
    if sum(sizes.values()) > SOURCE_BYTES:
        got = f"{sum(sizes.values()):,} bytes of Python in {len(files)} files"
        raise InvalidArgument.of("chunk", got, f"at most {SOURCE_BYTES:,} in all")


def _parse(file: Path, folder: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError) as error:
        got = f"{file.relative_to(folder)}: {error}"
        hint = "Run it on your own machine first."
        agent_hint = "Check it first: `check_bot`"
        raise InvalidArgument.of("chunk", got, "valid Python", hint=hint, agent_hint=agent_hint) from None


def _imports(module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module, node.lineno


def _check_import(name: str, place: str, own: set[str], packages: frozenset[str]) -> None:
    top = name.partition(".")[0]
    if top in _REFUSED:
        hint = "Leave it out: bots have no network access and cannot start programs or load libraries."
        raise InvalidArgument.of("import", f"{name} at {place}", "what a bot may use", hint=hint)
    if not (top in own or top in _NOUGHTS_PACKAGES or top in packages or top in sys.stdlib_module_names):
        allowed = ", ".join(sorted(packages))
        expected = "the standard library" + (f", {allowed}" if allowed else "")
        hint = "Leave it out, or ask the operator of the server (in a course, the teacher) to allow the package."
        raise InvalidArgument.of("import", f"{name} at {place}", expected, hint=hint)


def _bot_classes(module: ast.Module) -> Iterator[str]:
    """Yield the classes of a module that derive from Bot, directly or through another one."""
    bot_classes = {"Bot"}
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            bases = {base.attr for base in node.bases if isinstance(base, ast.Attribute)}
            bases |= {base.id for base in node.bases if isinstance(base, ast.Name)}
            if bases & bot_classes:
                bot_classes.add(node.name)
                yield node.name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
