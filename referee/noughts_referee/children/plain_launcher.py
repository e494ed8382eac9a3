"""Children without a sandbox, with all rights of the referee's user."""

import asyncio
import os
import shlex
import signal
import tempfile
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path

from noughts_proto.child_kinds import child_kind
from noughts_proto.interpreter import environment, python
from noughts_referee.children.launcher import ChildCommand, Started
from noughts_referee.children.scratch import OwnedFolder, remove_tree
from noughts_referee.children.stamped_pipes import stamped_pipe

_SESSION_LEADER = str(Path(__file__).with_name("session_leader.py"))
_HOSTS = "noughts_bots.hosts"
_FOR_WINDOWS_PROGRAMS = ("DISPLAY", "WINEPREFIX", "WINEDEBUG")


def command_line(command: ChildCommand) -> list[str]:
    """Return the program of a child and its arguments. Raises ValueError for an unknown kind or an open quote."""
    if not child_kind(command.kind).hosted:
        return shlex.split(command.target)
    options = [f"{key}={value}" for key, value in command.options.items()]
    return python("-m", _HOSTS, command.kind, command.target, *options)


class PlainChild(Started):
    def __init__(self, process: Process, pipes: tuple[int, int, int], scratch: str) -> None:
        super().__init__(process.pid, pipes, scratch)
        self._process = process
        self._ended: asyncio.Task[int] | None = None

    async def wait(self) -> int:
        """Return its exit code; negative: the signal that ended it. The rest of its session is killed.

        This happens even if the caller stops waiting.
        """
        if self._ended is None:
            self._ended = asyncio.create_task(self._end())  # noqa: TID251  # it can outlive its waiter
        return await asyncio.shield(self._ended)

    async def _end(self) -> int:
        try:
            return await self._process.wait()
        except asyncio.CancelledError:  # The event loop closes.
            self.kill(signal.SIGKILL)
            await self._process.wait()
            raise
        finally:
            # asyncio closes the transport of a process without pipes only on request.
            self._process._transport.close()  # type: ignore[attr-defined]
            _kill_session(self.pid)
            remove_tree(self.scratch)

    def give_way(self, gives: bool) -> None:
        """Do nothing, because children without a sandbox keep the priority of this user's programs."""

    def kill(self, signal: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses signals to a group of zombies.
            os.killpg(self.pid, signal)


class PlainLauncher:
    """Starts children without a sandbox: each has a session, a scratch folder as TMPDIR, and few variables.

    They run in the current folder, so that relative paths work as in a shell. Engines run in the scratch folder,
    because they leave files.
    """

    def __init__(self) -> None:
        self._folder = OwnedFolder("noughts-children-")

    async def start(self, command: ChildCommand) -> PlainChild:
        """Start a child. Raises OSError if the machine refuses, and ValueError as `command_line` does."""
        line = command_line(command)
        cores = ",".join(map(str, command.cores))
        scratch = tempfile.mkdtemp(dir=self._folder.path)
        default_folder = scratch if child_kind(command.kind).in_scratch else None
        variables = {**environment(keeping=_FOR_WINDOWS_PROGRAMS), "TMPDIR": scratch, **command.environment}
        own_ends: list[int] = []
        child_ends: list[int] = []
        try:
            child_stdin, own_stdin = stamped_pipe()
            own_ends.append(own_stdin)
            child_ends.append(child_stdin)
            for new_pipe in (stamped_pipe, os.pipe):
                own_end, child_end = new_pipe()
                own_ends.append(own_end)
                child_ends.append(child_end)
            process = await asyncio.create_subprocess_exec(
                *python("-I", "-S", _SESSION_LEADER, str(os.getpid()), cores, *line),
                stdin=child_ends[0], stdout=child_ends[1], stderr=child_ends[2],
                env=variables, cwd=command.folder or default_folder,
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            _close(own_ends)
            remove_tree(scratch)
            raise
        finally:
            _close(child_ends)
        for end in own_ends:
            os.set_blocking(end, False)
        return PlainChild(process, (own_ends[0], own_ends[1], own_ends[2]), scratch)

    async def close(self) -> None:
        self._folder.close()


def _kill_session(session: int) -> None:
    """Kill the rest of a session, including processes that have left its process group. Linux only."""
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with suppress(OSError):
                    if os.getsid(int(name)) == session:
                        os.kill(int(name), signal.SIGKILL)


def _close(ends: list[int]) -> None:
    for end in ends:
        os.close(end)
