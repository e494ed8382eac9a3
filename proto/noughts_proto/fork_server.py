"""Processes that start at once, because they are forked from a process that has imported what they need.

A fork server is a process with one thread. It runs a module that calls `forking.serve`: `python -P -m MODULE SOCKET
ROOM`. The process that uses it can have threads, because it never forks itself.
"""

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import cast

from noughts_proto.forking import NAME_BYTES, ROOM
from noughts_proto.interpreter import environment, python

_ANSWER_SECONDS = 60.0
_END_SECONDS = 5.0
"""Seconds in which a server ends after its socket was closed. Then it is killed."""
_REPLACED_SECONDS = 1.0
"""Seconds for which a server that is replaced can end. It continues if its processes still run."""
_OF_INTERPRETER = ("PYTHON", "VIRTUAL_ENV", "LANG", "LC_", "LD_", "DYLD_")
"""The beginnings of variables that an interpreter reads when it starts, so that a forked process cannot change them."""


class ForkedProcess(asyncio.Protocol):
    """A process that a fork server has forked. `ForkServer.start` creates it.

    It leads its own session. It is killed if `close` is called, or this process ends, while it runs.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._started: asyncio.Future[int] = loop.create_future()
        self._ended: asyncio.Future[int] = loop.create_future()
        self._reports = b""
        self.pid = 0
        self.stdin: asyncio.WriteTransport
        """Its standard input."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # no subclass of it with uvloop

    def data_received(self, data: bytes) -> None:
        *reports, self._reports = (self._reports + data).split(b"\n")
        for number in map(int, reports):
            if self._started.done():
                self._ended.set_result(number)
            elif number > 0:
                self._started.set_result(number)
            else:
                self._refuse(OSError(-number, os.strerror(-number)))

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the server. A process whose end it has not reported ended with it."""
        if not self._started.done():
            self._refuse(ChildProcessError("the process that forks others has ended"))
        if not self._ended.done():
            self._ended.set_result(-signal.SIGKILL)

    def _refuse(self, error: OSError) -> None:
        self._started.set_exception(error)
        self._started.exception()  # Otherwise asyncio reports an error that no caller awaits.

    async def started(self, seconds: float) -> None:
        """Wait until it runs, and set `pid`.

        Raises OSError if the machine refuses a process, the server ended, or it did not answer within the time.
        """
        await asyncio.wait([self._started], timeout=seconds)
        if not self._started.done():
            raise TimeoutError(f"the process that forks others did not answer within {seconds:g} s")
        self.pid = self._started.result()

    @property
    def has_ended(self) -> bool:
        return self._ended.done()

    async def ended(self) -> int:
        """Return its exit code, or the signal that ended it as a negative number."""
        return await asyncio.shield(self._ended)

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if not self._transport.is_closing():
            self._transport.write(bytes([number]))

    def close(self) -> None:
        self._transport.close()
        self.stdin.close()


class ForkServer:
    """The fork server of a module. It starts with the first process, and again after it was killed.

    It serves all threads and event loops of this process and ends with it.
    """

    def __init__(self, module: str, *, answer_seconds: float = _ANSWER_SECONDS) -> None:
        """`answer_seconds` limits the time to start a process, including the imports of the server."""
        self._module = module
        self._answer_seconds = answer_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket
        self._variables: dict[str, str] = {}
        self._former: list[subprocess.Popen[bytes]] = []
        """Servers with other variables, each of which ends with the last of its processes."""
        atexit.register(self.close)

    def load(self) -> None:
        """Start the server, so that it imports its modules now. Raises OSError if the machine refuses a process."""
        with self._lock:
            self._start()

    async def start(
        self, arguments: Sequence[str], variables: Mapping[str, str], *, stderr: int, needs: str = ""
    ) -> ForkedProcess:
        """Start a process in the current folder with these arguments and environment variables.

        `stderr` is a file of this process. The server imports the module `needs` first, for this process and later
        ones. Raises OSError; see `ForkedProcess.started`.
        """
        loop = asyncio.get_running_loop()
        with ExitStack() as own_ends:
            with ExitStack() as other_ends:
                own_reports, reports = socket.socketpair()
                own_ends.callback(own_reports.close)
                other_ends.callback(reports.close)
                stdin, own_stdin = os.pipe()
                other_ends.callback(os.close, stdin)
                writing = own_ends.enter_context(os.fdopen(own_stdin, "wb", buffering=0))
                folder = os.open(".", os.O_PATH if hasattr(os, "O_PATH") else os.O_RDONLY)
                other_ends.callback(os.close, folder)
                with self._lock:
                    self._start()
                    name = needs.encode().ljust(NAME_BYTES)
                    socket.send_fds(self._requests, [name], [reports.fileno(), folder, stdin, stderr])
            process: ForkedProcess
            _, process = await loop.create_unix_connection(ForkedProcess, sock=own_reports)
            process.stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writing)
            own_ends.pop_all()
        order = {"arguments": list(arguments), "environment": dict(variables)}
        process.stdin.write(json.dumps(order).encode() + b"\n")
        try:
            await process.started(self._answer_seconds)
        except BaseException:
            process.close()
            raise
        return process

    def _start(self) -> None:
        """Start the server unless it runs with the variables that an interpreter would get now."""
        variables = {name: value for name, value in environment().items() if name.startswith(_OF_INTERPRETER)}
        if self._process is not None and self._process.poll() is None and self._variables == variables:
            return
        if self._process is not None:
            self._requests.close()
            with suppress(subprocess.TimeoutExpired):  # it forked processes that still run
                self._process.wait(_REPLACED_SECONDS)
            self._former = [former for former in (*self._former, self._process) if former.poll() is None]
        own_end, end = socket.socketpair()
        with end:
            try:
                self._process = subprocess.Popen(
                    python("-m", self._module, str(end.fileno()), ROOM),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[end.fileno()],
                    # A fork is safe although grpc is imported, because it has no threads before its first use.
                    env=environment(GRPC_ENABLE_FORK_SUPPORT="0"),
                    # Ctrl-C in a terminal is for this process.
                    start_new_session=True,
                )
            except BaseException:
                own_end.close()
                raise
        own_end.settimeout(self._answer_seconds)  # the server reads nothing if it is stopped
        self._requests, self._variables = own_end, variables

    def close(self) -> None:
        """End the servers, so that no process of them remains. Runs at the end of this process."""
        if self._process is None:
            return
        self._requests.close()
        for process in (self._process, *self._former):
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
