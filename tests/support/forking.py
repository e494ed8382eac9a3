"""Forks processes for tests: `python -m tests.support.forking SOCKET ROOM`. See `tests.support.forks`.

It loads modules first, so a forked process starts in milliseconds. That process returns to this module as its main
program, so that it ends like any other.
"""

import ctypes
import fcntl
import gc
import io
import json
import os
import runpy
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TextIO

REQUEST_BYTES = 1 << 18
"""The size of a request in JSON. The first request is a list of modules to load, without an answer."""
MOST_FILES = 16
"""The number of files of a request: the working folder, then those of the new process."""
ROOM = " " * 1_000
"""The arguments of a forked process take its place."""
_CLONE = {"x86_64": 56, "aarch64": 220}
_SAME_PARENT, _CLEAR_THREAD_ID, _SET_THREAD_ID = 0x8000, 0x200000, 0x1000000
_GET_ADDRESS_OF_THREAD_ID = 40
_OWN_FILES = 1_000
"""File descriptors from here on are never those of a new process."""


def fork_on_request(requests: socket.socket) -> str:
    """Fork a process for each request until the socket is closed. Return, in that process, the module that it runs."""
    while True:
        request, files, _, _ = socket.recv_fds(requests, REQUEST_BYTES, MOST_FILES)
        if not request:
            os._exit(0)
        pid = _fork_sibling()
        if pid == 0:
            requests.close()
            return _become(files, **json.loads(request))
        for file in files:
            os.close(file)
        requests.send(b"%d" % pid)


def _fork_sibling() -> int:
    """Fork a process that is a child of this process's parent, which can wait for its end.

    Return its process ID, 0 in that process, or the number of the error as a negative number.
    """
    libc = ctypes.PyDLL(None, use_errno=True)
    # The C library keeps the ID of the thread at this address.
    address = ctypes.c_long()
    libc.prctl(_GET_ADDRESS_OF_THREAD_ID, ctypes.byref(address), 0, 0, 0)
    machine = os.uname().machine
    flags = signal.SIGCHLD | _SAME_PARENT | _SET_THREAD_ID | _CLEAR_THREAD_ID
    last_words = (address.value, 0) if machine == "x86_64" else (0, address.value)
    ctypes.pythonapi.PyOS_BeforeFork()
    pid: int = libc.syscall(*map(ctypes.c_long, (_CLONE[machine], flags, 0, 0, *last_words)))
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    return -ctypes.get_errno() if pid < 0 else pid


def _become(
    files: Sequence[int],
    *,
    descriptors: Sequence[int],
    command: Sequence[str],
    module: str,
    environment: dict[str, str],
    leads_session: bool,
) -> str:
    """Take the working folder, the files (as these descriptors), the command and the variables. Return the module."""
    folder, *others = (fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _OWN_FILES) for file in files)
    for file in files:
        os.close(file)
    os.fchdir(folder)
    os.close(folder)
    for file, descriptor in zip(others, descriptors, strict=True):
        os.dup2(file, descriptor)
        os.close(file)
    if leads_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    # The first path is that of this project.
    sys.path[:1] = [] if "-P" in command[: command.index("-m")] else [os.getcwd()]
    sys.argv[1:] = command[command.index("-m") + 2 :]
    _show_command(command)
    sys.stdin = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors, closefd=False)  # noqa: SIM115
    sys.stdout = _output(1, sys.stdout)
    sys.stderr = _output(2, sys.stderr)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))
    return module


def _output(descriptor: int, like: TextIO) -> TextIO:
    """Open a standard stream as Python does, with the encoding of another one."""
    if os.environ.get("PYTHONUNBUFFERED"):
        raw = io.FileIO(descriptor, "w", closefd=False)
        return io.TextIOWrapper(raw, like.encoding, like.errors, write_through=True)
    lines = 1 if descriptor == 2 else -1
    return open(descriptor, "w", lines, encoding=like.encoding, errors=like.errors, closefd=False)


def _show_command(command: Sequence[str]) -> None:
    """Let `ps` show this command, as far as it fits."""
    with suppress(OSError):
        # The program name is in parentheses and can contain anything.
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        first, end = int(fields[45]), int(fields[46])
        text = b"\0".join(map(os.fsencode, command))[: end - first - 1]
        ctypes.memmove(first, text.ljust(end - first, b"\0"), end - first)


def main() -> str:
    """Load the modules, and fork. Return, in a forked process, the module that it runs."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    for name in json.loads(requests.recv(REQUEST_BYTES)):
        import_module(name)
    gc.collect()
    gc.freeze()
    return fork_on_request(requests)


if __name__ == "__main__":
    runpy.run_module(main(), run_name="__main__", alter_sys=True)
