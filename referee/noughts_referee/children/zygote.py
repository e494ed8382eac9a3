"""The process that forks children: `python -P -m noughts_referee.children.zygote SOCKET SETTINGS`.

It has imported what children need, never grpc, and has one thread, so that a child is there within milliseconds. It is
told what to start in packets on a Unix socket (JSON, with the child's three pipes beside it), and tells which process
was started and how it ended. When the socket ends it kills all children and ends.

Each child is the reaper of its own descendants. What is left when a child ends falls to the zygote and is killed:
no process can leave that family, whatever sessions it makes.
"""

import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from noughts_referee.children import kernel
from noughts_referee.children.command import Resolved, resolve
from noughts_referee.children.launcher import Command
from noughts_referee.children.lock import Limits, Lock, forbid, free_user, tasks_of

LARGEST_PACKET = 128 * 1024
"""Bytes of a request."""
PIPES = 3

_CANNOT_RUN = 126
_ATTEMPT_SECONDS, _LOOK_MILLISECONDS = 2.0, 10
_COUNT_SECONDS = 5.0
_HANDLED = (signal.SIGCHLD, signal.SIGTERM)
_CHILDREN_PATH = "/usr/local/bin:/usr/bin:/bin"

Entry = Callable[[list[str]], int]
"""Runs a child that is no program of its own: KIND TARGET key=value ..., gives its exit code."""


@dataclass(slots=True)
class _Child:
    number: int
    """By which whoever asked for it knows it."""
    scratch: str
    user: int | None
    programs: bool


class Zygote:
    """Forks children on request, and is their parent."""

    def __init__(self, requests: socket.socket, entry: Entry, limits: Limits, scratch: str) -> None:
        self._requests = requests
        self._entry = entry
        self._limits = limits
        self._scratch = scratch
        self._children: dict[int, _Child] = {}
        self._removers: set[int] = set()
        self._ended: list[tuple[_Child, int, float]] = []
        self._tasks, self._counted = 0, -_COUNT_SECONDS
        self._wakeup, wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        """Serves until the socket ends."""
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        while True:
            for source, _ in poll.poll(_LOOK_MILLISECONDS if self._ended else None):
                if source == self._wakeup:
                    os.read(self._wakeup, LARGEST_PACKET)
                elif not self._serve():
                    return
            self._reap()

    def _serve(self) -> bool:
        """Takes one request; False at the end of the socket."""
        packet, pipes, _, _ = socket.recv_fds(self._requests, LARGEST_PACKET, PIPES)
        if not packet:
            return False
        request = json.loads(packet)
        if "signal" in request:
            self._signal(request["number"], request["signal"])
            return True
        try:
            pid = self._start(request, pipes)
        except (OSError, ValueError) as error:
            self._tell({"number": request["number"], "error": str(error)})
        else:
            self._tell({"number": request["number"], "pid": pid})
        finally:
            for pipe in pipes:
                os.close(pipe)
        return True

    def _tell(self, report: dict[str, Any]) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # the socket's end is seen when it is read
            self._requests.send(json.dumps(report).encode())

    def _signal(self, number: int, signal_number: int) -> None:
        for pid, child in self._children.items():
            if child.number == number:  # it is not reaped yet, so the number is still its own
                _kill_group(pid, signal_number)

    def _start(self, request: dict[str, Any], pipes: list[int]) -> int:
        command = resolve(Command(request["kind"], request["target"], request["options"]))
        user = free_user(child.user for child in self._children.values() if child.user is not None)
        lock = Lock(
            self._limits,
            self._make_scratch(request["number"], user),
            command.readable,
            command.programs,
            user,
            self._count_tasks() if user is None else 0,
            request["port"],
        )
        rules, reading = lock.rules(), lock.needs_reading()
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)  # until the child has dropped our handlers
        parent, pid = os.getpid(), os.fork()
        if pid == 0:

            def settle() -> None:
                _take_place(pipes, lock.scratch, request["environment"], reaps=command.programs)
                lock.shut(rules, reading=reading)

            self._be_child(command, settle, parent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        self._children[pid] = _Child(request["number"], lock.scratch, user, command.programs)
        return pid

    def _make_scratch(self, number: int, user: int | None) -> str:
        scratch = os.path.join(self._scratch, str(number))
        os.mkdir(scratch, 0o700)
        if user is not None:
            os.chown(scratch, user, user)
        return scratch

    def _count_tasks(self) -> int:
        """The tasks of our user: its limit counts them all. Counting takes milliseconds, so not for every child."""
        if time.monotonic() - self._counted > _COUNT_SECONDS:
            self._tasks, self._counted = tasks_of(os.getuid()), time.monotonic()
        return self._tasks

    def _be_child(self, command: Resolved, settle: Callable[[], None], parent: int) -> NoReturn:
        """The forked process, to its end: nothing that it does may come back into the zygote's loop."""
        code = _CANNOT_RUN
        try:
            settle()
            if os.getppid() == parent:
                if command.kind == "exec":
                    _execute(command.words)
                code = self._run_entry(command)
        except (OSError, ValueError) as error:
            os.write(2, f"{command.kind}:{command.target}: {error}\n".encode())
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)

    def _run_entry(self, command: Resolved) -> int:
        """Runs a child of Python to its end, and ends as Python would."""
        options = [f"{key}={value}" for key, value in command.options.items()]
        try:
            return self._entry([command.kind, command.target, *options])
        except SystemExit as end:
            return _exit_code(end)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            return 1
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()

    def _reap(self) -> None:
        """Buries who has ended, kills what they left behind, and tells of those who left nothing."""
        while (pid := _ended_child()) is not None:
            child = self._children.get(pid)
            if child is not None:
                _kill_group(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            self._removers.discard(pid)
            if child is not None:
                del self._children[pid]
                self._ended.append((child, os.waitstatus_to_exitcode(status), time.monotonic()))
        # One process has no descendants.
        quiet = not any(child.programs for child, _, _ in self._ended) or not self._kill_adopted()
        waiting = []
        for child, code, since in self._ended:
            if quiet or not child.programs or time.monotonic() - since > _ATTEMPT_SECONDS:
                self._remove(child.scratch)
                self._tell({"number": child.number, "exit": code})
            else:
                waiting.append((child, code, since))
        self._ended = waiting

    def _kill_adopted(self) -> bool:
        """Kills the processes that have fallen to this one; whether there were any."""
        adopted = _children_of(os.getpid()) - self._children.keys() - self._removers
        for pid in adopted:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(adopted)

    def _remove(self, scratch: str) -> None:
        """Removes a scratch folder: a full one in a process of its own, for it may hold anything."""
        with suppress(OSError):
            return os.rmdir(scratch)
        pid = os.fork()
        if pid == 0:
            remove_tree(scratch)
            os._exit(0)
        self._removers.add(pid)
        return None

    def close(self) -> None:
        """Kills everything and removes the scratch folders. Takes two seconds at most, if the kernel does its part."""
        latest = time.monotonic() + _ATTEMPT_SECONDS
        for pid in self._children:
            _kill_group(pid, signal.SIGKILL)
        self._children.clear()
        while time.monotonic() < latest:
            self._kill_adopted()
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(_LOOK_MILLISECONDS / 10_000)
            except ChildProcessError:
                break
        remove_tree(self._scratch)


def _take_place(pipes: list[int], scratch: str, environment: dict[str, str], *, reaps: bool) -> None:
    """Leaves everything of the zygote's behind: its signals, files, session, folder and environment."""
    signal.set_wakeup_fd(-1)
    for number in _HANDLED:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    for fd, pipe in enumerate(pipes):
        os.dup2(pipe, fd)
    os.closerange(PIPES, os.sysconf("SC_OPEN_MAX"))
    os.setsid()
    os.chdir(scratch)
    os.umask(0o077)
    os.environ.clear()
    os.environ.update(_environment(scratch) | environment)
    if reaps:
        kernel.control_process(kernel.SET_CHILD_SUBREAPER, 1)


def _execute(words: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and programs would inherit that
        signal.signal(number, signal.SIG_DFL)
    os.execv(words[0], words)


def _exit_code(end: SystemExit) -> int:
    """The exit code of a process that ends so, whose text goes where Python puts it."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    os.write(2, f"{end.code}\n".encode())
    return 1


def _environment(scratch: str) -> dict[str, str]:
    kept = {key: os.environ[key] for key in ("LANG", "PYTHONPATH") if key in os.environ}
    return {"PATH": _CHILDREN_PATH, "HOME": scratch, "TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1", **kept}


def _kill_group(pid: int, number: int) -> None:
    """Signals a child that is not buried yet, and its group; just after its fork it has none."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        os.kill(pid, number)


def _ended_child() -> int | None:
    """A child that has ended and is not buried yet: until then its number is nobody else's."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found is not None else None


def _children_of(parent: int) -> set[int]:
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                # The name of the program stands in parentheses, and may hold anything.
                if int(stat.read().rpartition(b")")[2].split()[1]) == parent:
                    found.add(int(name))
    return found


def remove_tree(folder: str) -> None:
    """Removes a folder, also when folders in it were closed."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        for place, folders, _ in os.walk(folder):
            for name in folders:
                with suppress(OSError):
                    os.chmod(os.path.join(place, name), 0o700, follow_symlinks=False)
        shutil.rmtree(folder, ignore_errors=True)


def _load(entry: str) -> Entry:
    module, _, function = entry.partition(":")
    found: Entry = getattr(importlib.import_module(module), function)
    return found


def main(arguments: list[str]) -> int:
    """Serves the socket whose file descriptor is the first argument; the second holds the settings as JSON."""
    settings = json.loads(arguments[1])
    kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    kernel.control_process(kernel.SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    entry = _load(settings["entry"])
    forbid()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(arguments[0])) as requests:
        requests.set_inheritable(False)
        zygote = Zygote(requests, entry, Limits(**settings["limits"]), settings["scratch"])
        try:
            zygote.run()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            zygote.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
