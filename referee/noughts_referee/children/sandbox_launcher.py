"""The launcher of sandboxed children. A zygote process forks them."""

import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from noughts_proto.interpreter import environment, python
from noughts_referee.children.forked_child import LARGEST_PACKET
from noughts_referee.children.launcher import ChildCommand, Started
from noughts_referee.children.sandbox import Limits, SandboxIncomplete, gaps
from noughts_referee.children.scratch import OwnedFolder, scratch_of
from noughts_referee.children.stamped_pipes import stamped_pipe

_ZYGOTE = "noughts_referee.children.zygote"
_STARTS_AT_ONCE = 16
"""Limit of the processes that start at the same time."""
_Ending = asyncio.Future[tuple[int, str, float]]
"""The exit code of a child, the reason if it was ended, and its processor time."""


class SandboxedChild(Started):
    def __init__(self, zygote: "_Zygote", number: int, ended: _Ending, pid: int, pipes: tuple[int, int, int]) -> None:
        super().__init__(pid, pipes, scratch_of(zygote.scratch, number))
        self._zygote = zygote
        self._number = number
        self._ended = ended

    async def wait(self) -> int:
        """Return its exit code after all its processes have ended; negative: the signal that ended it or its zygote."""
        code, self.ended_for, self.processor_seconds = await asyncio.shield(self._ended)
        return code

    def give_way(self, gives: bool) -> None:
        """Give it a lower priority than other processes, or the usual one again."""
        if not self._ended.done():
            self._zygote.send({"number": self._number, "gives_way": gives})

    def kill(self, signal: int) -> None:
        """Send a signal to its process group, unless it has ended."""
        if not self._ended.done():
            self._zygote.kill(self._number, signal)


class SandboxLauncher:
    """Starts children through a zygote, which starts with the first child and again after it has died.

    The zygote imports `entry` ("module:function") once, so that all children share the imported modules. The function
    runs children that are not programs of their own. It takes [KIND, TARGET, "key=value", ...] and returns an exit
    code. A function `rehearse` in the same module is called in each child that waits for its order.
    """

    def __init__(
        self,
        entry: str,
        limits: Limits | None = None,
        *,
        require_lock: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment` has additional variables for every child.

        Raises SandboxIncomplete if the sandbox is required and this kernel cannot provide all of it.
        """
        self.gaps = gaps()
        if require_lock and self.gaps:
            raise SandboxIncomplete(self.gaps)
        self._entry = entry
        self._limits = limits or Limits()
        self._environment = dict(environment or {})
        self._zygote: _Zygote | None = None
        self._starts = asyncio.Semaphore(_STARTS_AT_ONCE)
        self._numbers = itertools.count(1)

    def warm(self) -> None:
        """Start the zygote, so that the first child does not have to wait for it."""
        if self._zygote is None or self._zygote.lost:
            self._zygote = _Zygote(self._entry, self._limits)

    async def start(self, command: ChildCommand) -> SandboxedChild:
        """Start a child. If its program cannot run, the last line on its stderr says why.

        Raises OSError if the machine has no processes or files left or the kind is unknown, ChildProcessError if the
        zygote ends, and ValueError for a command of more than 128 KB.
        """
        async with self._starts:
            self.warm()
            assert self._zygote is not None
            variables = {**self._environment, **command.environment}
            return await self._zygote.start(next(self._numbers), replace(command, environment=variables))

    async def close(self) -> None:
        """Kill all children and their descendants, and remove their folders."""
        if self._zygote is not None:
            await self._zygote.close()
            self._zygote = None


class _Zygote:
    """The zygote's process, for the event loop that started it."""

    def __init__(self, entry: str, limits: Limits) -> None:
        self.lost = False
        self._ended: dict[int, _Ending] = {}
        self._starting: dict[int, asyncio.Future[int]] = {}
        self._pids: dict[int, int] = {}
        self._loop = asyncio.get_running_loop()
        self._sending = asyncio.Lock()
        """Held while a start is sent, because only one can wait until the socket is writable."""
        self._folder = OwnedFolder("noughts-lock-")
        self.scratch = self._folder.path
        try:
            self._socket, self._process = self._fork(entry, limits)
        except BaseException:
            self._folder.close()
            raise
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._read)

    def _fork(self, entry: str, limits: Limits) -> "tuple[socket.socket, subprocess.Popen[bytes]]":
        """Start the zygote's process, and return this process's end of the socket. Raises OSError."""
        os.chmod(self.scratch, 0o711)  # noqa: S103  # children of other users must reach their own folders
        settings = {"entry": entry, "limits": asdict(limits), "scratch": self.scratch}
        own_end, zygote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with zygote_end:
            try:
                return own_end, subprocess.Popen(
                    python("-m", _ZYGOTE, str(zygote_end.fileno()), json.dumps(settings)),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[zygote_end.fileno()],
                    env=environment(),
                    start_new_session=True,
                )
            except BaseException:
                own_end.close()
                raise

    async def start(self, number: int, command: ChildCommand) -> SandboxedChild:
        request = {"number": number, **asdict(command)}
        pipes: list[tuple[int, int]] = []
        started = self._starting[number] = self._loop.create_future()
        ended = self._ended[number] = self._loop.create_future()
        try:
            pipes.append(stamped_pipe())
            pipes.append(stamped_pipe())
            pipes.append(os.pipe())
            (stdin, own_stdin), (own_stdout, stdout), (own_stderr, stderr) = pipes
            await self._send(json.dumps(request).encode(), [stdin, stdout, stderr])
            pid = await started
        except BaseException:
            for end in itertools.chain(*pipes):
                os.close(end)
            self._ended.pop(number, None)
            self.kill(number, signal.SIGKILL)
            raise
        finally:
            self._starting.pop(number, None)
        for fd in (stdin, stdout, stderr):
            os.close(fd)
        own_ends = (own_stdin, own_stdout, own_stderr)
        for fd in own_ends:
            os.set_blocking(fd, False)
        return SandboxedChild(self, number, ended, pid, own_ends)

    def kill(self, number: int, signal_number: int) -> None:
        """Send a signal through the zygote, which knows whether the process ID still belongs to the child."""
        with suppress(OSError):  # The zygote has ended, and its children with it.
            try:
                self._socket.send(json.dumps({"number": number, "signal": int(signal_number)}).encode())
            except BlockingIOError:
                if number in self._pids:
                    _kill_group(self._pids[number], signal_number)

    def send(self, request: dict[str, Any]) -> None:
        """Send a request that can be lost, if the zygote is gone or busy."""
        with suppress(OSError):
            self._socket.send(json.dumps(request).encode())

    async def _send(self, packet: bytes, fds: list[int]) -> None:
        if len(packet) > LARGEST_PACKET:
            raise ValueError(f"command: got {len(packet)} bytes, expected at most {LARGEST_PACKET}")
        async with self._sending:
            while True:
                try:
                    socket.send_fds(self._socket, [packet], fds)
                except BlockingIOError:
                    await self._writable()
                except OSError as error:
                    raise ChildProcessError("the zygote, which starts children, has ended") from error
                else:
                    return

    async def _writable(self) -> None:
        writable = asyncio.Event()
        self._loop.add_writer(self._socket, writable.set)
        try:
            await writable.wait()
        finally:
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while True:
                try:
                    packet = self._socket.recv(LARGEST_PACKET)
                except ConnectionResetError:
                    packet = b""
                if not packet:
                    return self._lose()
                self._take(json.loads(packet))
        return None

    def _take(self, report: dict[str, Any]) -> None:
        number = report["number"]
        if "exit" in report:
            self._pids.pop(number, None)
            ended = self._ended.pop(number, None)
            if ended is not None:
                ended.set_result((report["exit"], report["ended_for"], report["processor_seconds"]))
            return
        if "pid" in report:
            self._pids[number] = report["pid"]
        started = self._starting.get(number)
        if started is None or started.done():
            return
        if "pid" in report:
            started.set_result(report["pid"])
        else:
            refusal = OSError(report["error"])
            refusal.errno = report["errno"]
            started.set_exception(refusal)

    def _lose(self) -> None:
        """Handle the end of the zygote: its children end with it, and this kills their process groups."""
        if self.lost:
            return
        self.lost = True
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for started in self._starting.values():
            if not started.done():
                started.set_exception(ChildProcessError("the zygote, which starts children, has ended"))
        for pid in self._pids.values():
            _kill_group(pid, signal.SIGKILL)
        for ended in self._ended.values():
            if not ended.done():
                ended.set_result((-signal.SIGKILL, "", 0.0))
        self._pids.clear()
        self._ended.clear()
        self._process.kill()  # It has ended, or is ending.
        self._process.wait()
        self._folder.close()

    async def close(self) -> None:
        """End the zygote, and remove the folders that it could not remove."""
        if not self.lost:
            self._socket.shutdown(socket.SHUT_WR)
        await asyncio.to_thread(self._process.wait)
        self._lose()


def _kill_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
