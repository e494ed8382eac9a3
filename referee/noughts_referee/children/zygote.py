"""The process that forks children: `python -P -m noughts_referee.children.zygote SOCKET SETTINGS`.

It has imported what children need, but never grpc, and has one thread, so a child starts within milliseconds. One child
is always forked in advance and waits for its order. Packets on a Unix socket (JSON, with the child's three pipes) say
what to start. Replies say which process has started, and how it ended. When the socket closes, the zygote kills all
children and ends.

Each child reaps its own descendants. When it ends, the zygote inherits and kills the rest, so no process can escape,
whatever sessions it creates.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from noughts_proto.child_kinds import child_kind
from noughts_referee.children import kernel
from noughts_referee.children.forked_child import LARGEST_PACKET, PIPES, Entry, run_child
from noughts_referee.children.sandbox import Limits, forbid, free_user, tasks_of, warm_up
from noughts_referee.children.scratch import remove_tree, scratch_of
from noughts_referee.children.scratch_disks import ScratchDisks, scratch_disks
from noughts_referee.children.watch import CHECK_SECONDS, Watch

_KILL_SECONDS = 2.0
"""The longest time for which remaining processes are killed: a process can start others faster than they are killed."""
_KILL_MILLISECONDS = 10
"""Time between two attempts to kill the remaining processes of ended children."""
_CLOSE_SECONDS = 0.001
"""Time between two attempts to kill the remaining processes of all children, before the zygote ends."""
_COUNT_SECONDS = 5.0
"""Seconds between two counts of the user's tasks."""
_OTHER_TASKS = 256
"""Tasks that other programs of this user can start after the count."""
_HANDLED = (signal.SIGCHLD, signal.SIGTERM)


@dataclass(slots=True)
class _Child:
    """A child that runs, or whose remaining processes are being killed."""

    number: int
    """The number that the launcher uses for it."""
    scratch: str
    """The path of its scratch folder."""
    user: int | None
    """Its own user ID; None if it runs as the zygote's user."""
    starts_programs: bool
    """Whether it can start other processes, which can outlive it."""
    on_disk: bool
    """Whether its scratch folder is a disk of its own."""
    gives_way: bool = False
    """Whether it has a lower priority than others."""
    ended_for: str = ""
    """Why `watch` ended it, a phrase that follows "it"; empty if `watch` did not."""


class Zygote:
    """Starts the children that the requests describe, and reports their ends."""

    def __init__(
        self, requests: socket.socket, entry: Entry, limits: Limits, scratch: str, disks: ScratchDisks | None
    ) -> None:
        self._requests = requests
        self._entry = entry
        self._limits = limits
        self._scratch = scratch
        self._disks = disks
        self._children: dict[int, _Child] = {}
        """The running children, by process ID."""
        self._removers: set[int] = set()
        """The IDs of processes that remove scratch folders."""
        self._watch = Watch(limits)
        self._spare: tuple[int, socket.socket] | None = None
        """The child that was forked in advance: its process ID, and the socket for its order."""
        self._ended: list[tuple[_Child, dict[str, Any], float]] = []
        """Ended children that are not reported yet, with their reports and the times of their ends."""
        self._tasks = 0
        self._counted = -_COUNT_SECONDS
        """The time of the last count of the user's tasks."""
        self._wakeup, wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        self._leaving = False
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # Raises nothing: Python drops exceptions of handlers in some places, such as its own hooks around a fork.
        signal.signal(signal.SIGTERM, self._leave)

    def _leave(self, *_: object) -> None:
        self._leaving = True

    def run(self) -> None:
        """Serve until the socket closes or SIGTERM comes."""
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        warm_up()
        while not self._leaving:
            if self._spare is None:
                with suppress(OSError):  # the next request reports it
                    self._spare = self._fork()
            check_milliseconds = CHECK_SECONDS * 1000 if self._children else None
            for source, _ in poll.poll(_KILL_MILLISECONDS if self._ended else check_milliseconds):
                if source == self._wakeup:
                    os.read(self._wakeup, LARGEST_PACKET)
                elif not self._serve():
                    return
            for pid, reason in self._watch.find_offenders(self._children):
                self._children[pid].ended_for = reason
                _kill_group(pid, signal.SIGKILL)
            self._reap()

    def _serve(self) -> bool:
        """Handle one request. Return False at the end of the socket."""
        try:
            packet, pipes, _, _ = socket.recv_fds(self._requests, LARGEST_PACKET, PIPES)
        except ConnectionResetError:  # The launcher was killed before it had read all reports.
            return False
        if not packet:
            return False
        request = json.loads(packet)
        if "signal" in request:
            for pid, child in self._children.items():
                # The child is not reaped yet, so the process ID is still its own.
                if child.number == request["number"]:
                    _kill_group(pid, request["signal"])
            return True
        if "gives_way" in request:
            for child in self._children.values():
                if child.number == request["number"]:
                    child.gives_way = request["gives_way"]
            return True
        try:
            pid = self._start(request, pipes)
        except (OSError, ValueError) as error:
            self._report({"number": request["number"], "error": str(error), "errno": getattr(error, "errno", None)})
        else:
            self._report({"number": request["number"], "pid": pid})
        finally:
            for pipe in pipes:
                os.close(pipe)
        return True

    def _report(self, report: dict[str, Any]) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # Reading the socket reports its end.
            self._requests.send(json.dumps(report).encode())

    def _start(self, request: dict[str, Any], pipes: list[int]) -> int:
        child = _Child(
            number=request["number"],
            scratch=scratch_of(self._scratch, request["number"]),
            user=free_user(child.user for child in self._children.values() if child.user is not None),
            starts_programs=child_kind(request["kind"]).starts_programs,
            on_disk=self._disks is not None,
        )
        os.mkdir(child.scratch, 0o700)
        try:
            return self._start_in_scratch(child, request, pipes)
        except OSError:
            self._remove(child.scratch)
            raise

    def _start_in_scratch(self, child: _Child, request: dict[str, Any], pipes: list[int]) -> int:
        """Start a child whose scratch folder has just been created."""
        if self._disks is not None:
            self._disks.mount(child.scratch, child.user)
        elif child.user is not None:
            os.chown(child.scratch, child.user, child.user)
        tasks = self._count_tasks() if child.user is None else 0
        order = json.dumps({**request, "user": child.user, "scratch": child.scratch, "tasks": tasks}).encode()
        spare, self._spare = self._spare, None
        with suppress(BrokenPipeError, ConnectionResetError):  # the kernel kills a spare process when memory runs out
            return self._order(spare or self._fork(), child, order, pipes)
        return self._order(self._fork(), child, order, pipes)

    def _order(self, waiting: tuple[int, socket.socket], child: _Child, order: bytes, pipes: list[int]) -> int:
        """Make a waiting process this child."""
        pid, orders = waiting
        with orders:
            socket.send_fds(orders, [order], pipes)
        self._children[pid] = child
        return pid

    def _fork(self) -> tuple[int, socket.socket]:
        """Fork a child that waits for its order. Return its process ID and the socket for the order."""
        own_end, child_end = socket.socketpair()
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)  # until the child has dropped our handlers
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
            raise
        if pid == 0:
            run_child(child_end.detach(), parent, self._entry, self._limits, _HANDLED)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        child_end.close()
        return pid, own_end

    def _count_tasks(self) -> int:
        """Return the number of our user's tasks, which all count towards its limit. The slow count is cached."""
        if time.monotonic() - self._counted > _COUNT_SECONDS:
            is_alone = self._disks is not None and self._disks.in_user_namespace
            self._tasks = tasks_of(os.getuid(), in_namespace=is_alone) + _OTHER_TASKS
            self._counted = time.monotonic()
        return self._tasks

    def _reap(self) -> None:
        """Reap ended children, kill their remaining processes, and report children without any."""
        while (pid := _ended_child()) is not None:
            child = self._children.get(pid)
            if child is not None:
                _kill_group(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            self._removers.discard(pid)
            if self._spare is not None and self._spare[0] == pid:
                self._spare = None
            if child is not None:
                del self._children[pid]
                seconds = usage.ru_utime + usage.ru_stime
                report = {"exit": os.waitstatus_to_exitcode(status), "processor_seconds": seconds}
                self._ended.append((child, report, time.monotonic()))
        # A child with one process has no descendants.
        has_no_orphans = not any(child.starts_programs for child, _, _ in self._ended) or not self._kill_adopted()
        waiting = []
        for child, report, since in self._ended:
            if has_no_orphans or not child.starts_programs or time.monotonic() - since > _KILL_SECONDS:
                self._remove(child.scratch)
                self._report({"number": child.number, "ended_for": child.ended_for, **report})
            else:
                waiting.append((child, report, since))
        self._ended = waiting

    def _kill_adopted(self) -> bool:
        """Kill inherited processes. Return whether there were any."""
        ours = self._children.keys() | self._removers | ({self._spare[0]} if self._spare else set())
        adopted = _children_of(os.getpid()) - ours
        for pid in adopted:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(adopted)

    def _remove(self, scratch: str) -> None:
        """Remove a scratch folder. A full one is removed in a separate process, because it can contain anything."""
        if self._disks is not None:
            self._disks.unmount(scratch)
        with suppress(OSError):
            return os.rmdir(scratch)
        with suppress(OSError):  # if no process can start, `close` removes the folder
            pid = os.fork()
            if pid == 0:
                try:
                    kernel.close_files(PIPES)  # the next child waits until its order ends
                    remove_tree(scratch)
                finally:
                    os._exit(0)  # must not return: a second zygote would reap the children of the first
            self._removers.add(pid)
        return None

    def close(self) -> None:
        """Kill everything and remove the scratch folders, within about two seconds."""
        latest = time.monotonic() + _KILL_SECONDS
        for pid in self._children:
            _kill_group(pid, signal.SIGKILL)
        self._children.clear()
        self._spare = None
        while time.monotonic() < latest:
            self._kill_adopted()
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(_CLOSE_SECONDS)
            except ChildProcessError:
                break
        if self._disks is not None:
            self._disks.close()
        remove_tree(self._scratch)


def _kill_group(pid: int, number: int) -> None:
    """Signal a child that is not reaped yet, and its group. Directly after the fork it has no group."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        os.kill(pid, number)


def _ended_child() -> int | None:
    """Return an ended child that is not reaped yet, so that its process ID is not reused."""
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return ended.si_pid if ended is not None else None


def _children_of(parent: int) -> set[int]:
    """Return the process IDs of the children of a process, ended ones too."""
    pids = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                # The program name is in parentheses and can contain anything.
                if int(stat.read().rpartition(b")")[2].split()[1]) == parent:
                    pids.add(int(name))
    return pids


def main(arguments: list[str]) -> int:
    """Serve the socket whose file descriptor is the first argument; the second is the settings as JSON."""
    settings = json.loads(arguments[1])
    kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    kernel.control_process(kernel.SET_CHILD_SUBREAPER, 1)
    name, _, function = settings["entry"].partition(":")
    module = importlib.import_module(name)
    entry = Entry(getattr(module, function), getattr(module, "rehearse", lambda: None))
    # If memory runs out, the kernel must end the largest child, not the server.
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb") as score:
        score.write(b"1000")
    limits = Limits(**settings["limits"])
    disks = scratch_disks(settings["scratch"], limits)
    # Entering a user namespace can clear this.
    kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    forbid()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(arguments[0])) as requests:
        requests.set_inheritable(False)
        zygote = Zygote(requests, entry, limits, settings["scratch"], disks)
        try:
            zygote.run()
        finally:
            zygote.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
