"""The process of a fork server: it forks processes on request and reports how they ended. See `fork_server`.

This module imports neither asyncio nor grpc, because the process that forks sandboxed children also uses it.
"""

import ctypes
import errno
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

NAME_BYTES = 128
"""Bytes of a request: the name of a module that the new process needs, with blanks behind it."""
FILES = 4
"""Files of a request: the socket for reports, the working folder, and the new process's stdin and stderr."""
ROOM = " " * 120
"""The last argument of a fork server. The arguments of the processes that it forks take its place."""

_SET_PARENT_DEATH_SIGNAL = 1
_SIGNALS = 64
"""Signals to a process that are read at once, a byte each."""

Program = Callable[[list[str]], int]
"""Takes the arguments of a process and returns its exit code."""


def serve(requests: int, program: Program) -> None:
    """Fork processes that run the program, until the other end of the socket is closed and all of them have ended.

    `requests` is the file descriptor of the socket. This process must have one thread only.
    """
    gc.collect()
    gc.freeze()
    _ForkServer(socket.socket(fileno=requests), program).run()


class _ForkServer:
    def __init__(self, requests: socket.socket, program: Program) -> None:
        self._requests = requests
        self._program = program
        self._reports: dict[int, socket.socket] = {}
        """The sockets for the reports on running processes, by process ID."""
        self._pids: dict[int, int] = {}
        """The process IDs of running processes whose owner is there, by file descriptor of that socket."""
        self._wakeup, self._wakeup_end = os.pipe()
        os.set_blocking(self._wakeup_end, False)
        signal.set_wakeup_fd(self._wakeup_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        self._poll.register(self._wakeup, select.POLLIN)
        self._poll.register(self._requests, select.POLLIN)
        self._has_owner = True

    def run(self) -> None:
        while self._has_owner or self._reports:
            for file, _ in self._poll.poll():
                if file == self._wakeup:
                    os.read(self._wakeup, select.PIPE_BUF)
                elif file in self._pids:
                    self._send_signals(file)
                else:
                    self._serve()
            self._reap()

    def _serve(self) -> None:
        """Fork a process as requested, or note that no request follows."""
        name, files, _, _ = socket.recv_fds(self._requests, NAME_BYTES, FILES)
        if name and not files:
            return  # this process has no descriptors left; the owner notices that its socket is closed
        if not name:
            self._poll.unregister(self._requests)
            self._has_owner = False
            return
        reports = socket.socket(fileno=files[0])
        if len(files) < FILES:  # this process has no descriptors left
            self._refuse(reports, files[1:], errno.EMFILE)
            return
        if module := name.decode().strip():
            with suppress(ImportError):  # the process that needs the module reports the error
                import_module(module)
                gc.freeze()
        try:
            pid = self._fork(reports, files[1:])
        except OSError as error:
            self._refuse(reports, files[1:], error.errno or errno.EAGAIN)
            return
        _close(files[1:])
        self._reports[pid] = reports
        self._pids[reports.fileno()] = pid
        self._poll.register(reports, select.POLLIN)
        _report(reports, pid)

    def _refuse(self, reports: socket.socket, files: Sequence[int], number: int) -> None:
        _report(reports, -number)
        reports.close()
        _close(files)

    def _send_signals(self, file: int) -> None:
        """Send a process the signals that its owner asks for; kill it if the owner is gone."""
        pid = self._pids[file]
        numbers = b""
        with suppress(ConnectionResetError):
            numbers = self._reports[pid].recv(_SIGNALS)
        if not numbers:
            self._poll.unregister(file)
            del self._pids[file]
        for number in numbers or (signal.SIGKILL,):
            os.kill(pid, number)  # it is not reaped yet, so the process ID is still its own

    def _reap(self) -> None:
        while self._reports:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            reports = self._reports.pop(pid)
            if self._pids.pop(reports.fileno(), None) is not None:
                self._poll.unregister(reports)
            _report(reports, os.waitstatus_to_exitcode(status))
            reports.close()

    def _fork(self, reports: socket.socket, files: Sequence[int]) -> int:
        """Fork a process and return its ID."""
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_program(parent, reports, files)
        return pid

    def _become_program(self, parent: int, reports: socket.socket, files: Sequence[int]) -> NoReturn:
        """Run the program in the forked process. It must never return into the loop of the server."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for own in (reports, self._requests, *self._reports.values()):
                own.close()
            _close([self._wakeup, self._wakeup_end])
            end_with(parent)
            os.setsid()
            folder, stdin, stderr = files
            os.fchdir(folder)
            os.dup2(stdin, 0)
            os.dup2(stderr, 2)
            _close(files)
            if line := sys.stdin.readline():
                order = json.loads(line)
                os.environ.clear()
                os.environ.update(order["environment"])
                _show_arguments(order["arguments"])
                code = exit_code(self._program, order["arguments"])
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)


def _close(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)


def _report(reports: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # the owner is gone
        reports.send(b"%d\n" % number)


def end_with(parent: int) -> None:
    """End this process when the thread that started it ends, or now if its parent has already ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent has gone already")


def exit_code(program: Program, arguments: list[str]) -> int:
    """Run a program to its end, and return the exit code that Python would have."""
    try:
        return program(arguments)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        os.write(2, f"{end.code}\n".encode())
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


def _show_arguments(arguments: Sequence[str]) -> None:
    """Let `ps` show these arguments in place of the server's, as far as they fit. Linux only."""
    with suppress(OSError):
        # The program name is in parentheses and can contain anything.
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        first, end = int(fields[45]), int(fields[46])
        # The server's own arguments are the socket and `ROOM`.
        text = b"\0".join(map(os.fsencode, [*sys.orig_argv[:-2], *arguments]))[: end - first - 1]
        ctypes.memmove(first, text.ljust(end - first, b"\0"), end - first)
