"""What a child may do, and how it gives up everything else: `Sandbox.shut`, in the child, between fork and its program.

A child reads the interpreter, shared libraries, what Python imports from, and the folder of each path in its command;
it writes in its scratch folder; of the network it has the one TCP port at which it dials in, if it does. `py` and `dll`
run in one process, `exec` and `gomocup` may start programs, a bounded number. `gaps()` says in words what this kernel
cannot lock.
"""

import os
import resource
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from noughts_referee.children import kernel, landlock, seccomp
from noughts_referee.children.landlock import KEEP, READ, RUN, USE

_MIB = 1024 * 1024
_GRACE_SECONDS = 5
_RESERVED_BYTES = 4096 * _MIB
"""Address space beside the memory of a program: the runtimes of Go and Java reserve some that they never use."""

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_PROGRAMS = ("/bin", "/usr/bin", "/usr/local/bin", "/usr/libexec", "/usr/share")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SINGLE_FILES = (
    "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/openssl.cnf",
    "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu/online",
)  # fmt: skip
"""The last three say how many cores and how much memory there are, which engines look up."""
_OF_THE_KERNEL = ("/dev/", "/proc/", "/sys/")
"""Devices and processes, none of which is opened because it, or its neighbour, is named."""
_MEMORY_DISK = "/dev/shm/"  # noqa: S108  # who keeps bots there has a folder for them
_OF_PREFIX = ("bin", "lib", "lib64", "pyvenv.cfg")

_USERS = range(61184, 65520)
"""User IDs for children of root: systemd gives these to services that need one of their own for a while."""


class LockIncomplete(Exception):
    """The lock is required, and this kernel cannot lock everything."""

    def __init__(self, missing: Iterable[str]) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"lock: got a kernel that cannot lock everything ({'; '.join(self.missing)}), expected Linux 6.12 or newer "
            "with Landlock and seccomp; run on such a machine, or without requiring the lock"
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use up. The first four count for each of its processes."""

    cpu_seconds: int = 24 * 3600
    """Of processor time; SIGXCPU then, SIGKILL five seconds later."""
    memory_bytes: int = 384 * _MIB
    """Of address space; for `exec` and `gomocup` of private memory."""
    file_bytes: int = 64 * _MIB
    open_files: int = 64
    processes: int = 64
    """Processes and threads together."""
    scratch_bytes: int = 256 * _MIB
    """In its scratch folder. This, and what follows, is not the kernel's to see to: see `children.watch`."""
    scratch_files: int = 10_000
    all_memory_bytes: int = 0
    """Of all children together; 0: three quarters of the machine's."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The lock of one child."""

    limits: Limits
    scratch: str
    """Its own folder, the only one in which it writes."""
    readable: tuple[str, ...]
    """Files and folders of its command."""
    programs: bool
    """Whether it may start programs and processes."""
    user: int | None
    """The user that it becomes; None: it stays who it is."""
    tasks: int
    """Processes and threads that its user has already."""
    port: int | None = None
    """A TCP port that it may connect to."""

    def shut(self) -> None:
        """Locks this process, for ever. Raises OSError; it must end then, for it may be half locked."""
        rules, reading = self._rules(), self._needs_reading()
        locks_files = landlock.version() > 0
        self._limit()
        if self.user is not None:
            kernel.become(self.user)
        kernel.drop_capabilities(but_reading=reading and locks_files)
        # Becoming another user clears this one, and who is locked cannot change it.
        kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        kernel.control_process(kernel.SET_NO_NEW_PRIVILEGES, 1)
        if locks_files:
            landlock.restrict(rules, () if self.port is None else (self.port,))
        if seccomp.available():
            own_pid = None if self.programs else os.getpid()
            seccomp.restrict(own_pid=own_pid, tcp=self.port is not None, own_user=self.user is not None)

    def rehearse(self) -> None:
        """Does as much of `shut` as has no effect. Raises OSError."""
        rules = self._rules()
        self._needs_reading()
        if landlock.version() > 0:
            landlock.rehearse(rules)
        if seccomp.available():
            seccomp.rehearse()

    def _rules(self) -> list[tuple[str, int]]:
        """What may be done where."""
        reading = RUN if self.programs else READ
        own = ((path, reading) for path in self.readable)
        return [*_for_everybody(self.programs), *own, (self.scratch, KEEP | reading)]

    def _needs_reading(self) -> bool:
        """Whether what it may read lies where its user could not go."""
        beside = os.path.dirname(os.path.dirname(self.scratch))
        return _everybody_is_closed(self.programs) or any(_closed(path) for path in (*self.readable, beside))

    def _limit(self) -> None:
        limits = self.limits
        reserved = _RESERVED_BYTES if self.programs else 0
        for what, most in (
            (resource.RLIMIT_AS, limits.memory_bytes + reserved),
            (resource.RLIMIT_DATA, limits.memory_bytes),
            (resource.RLIMIT_FSIZE, limits.file_bytes),
            (resource.RLIMIT_NOFILE, limits.open_files),
            (resource.RLIMIT_NPROC, limits.processes + self.tasks),
            (resource.RLIMIT_CORE, 0),
        ):
            _set_limit(what, most, most)
        _set_limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + _GRACE_SECONDS)


def look_around() -> None:
    """Finds out once what all children may read, so that those who are forked from here know it."""
    for programs in (False, True):
        _everybody_is_closed(programs)


def forbid() -> None:
    """What no child needs, and who forks them does not either, is refused here once: it costs milliseconds."""
    if seccomp.available():
        kernel.control_process(kernel.SET_NO_NEW_PRIVILEGES, 1)
        seccomp.restrict_family()


def _set_limit(what: int, soft: int, hard: int) -> None:
    """Sets a limit, never above the one that is there: only root may raise it."""
    _, now = resource.getrlimit(what)
    if now != resource.RLIM_INFINITY:
        soft, hard = min(soft, now), min(hard, now)
    resource.setrlimit(what, (soft, hard))


@cache
def _for_everybody(programs: bool) -> list[tuple[str, int]]:
    """What every child may read, and the devices."""
    own = [os.path.join(prefix, part) for prefix in {sys.prefix, sys.base_prefix} for part in _OF_PREFIX]
    imported = [path for path in sys.path if not too_much(path)]
    readable = [*_LIBRARIES, *_SINGLE_FILES, *own, *imported, *(_PROGRAMS if programs else ())]
    reading = RUN if programs else READ
    return [*((path, reading) for path in _outermost(readable)), *((path, USE) for path in _DEVICES)]


def _outermost(paths: Iterable[str]) -> list[str]:
    """Those that exist, without what lies in another one: each costs every child some microseconds."""
    places = {Path(path).resolve() for path in paths if os.path.exists(path)}
    return sorted(str(place) for place in places if not places.intersection(place.parents))


@cache
def _everybody_is_closed(programs: bool) -> bool:
    return any(_closed(path) for path, _ in _for_everybody(programs))


def _closed(path: str) -> bool:
    """Whether a user without rights could not get there."""
    place = os.path.realpath(path)
    try:
        mode = os.stat(place).st_mode
        needed = 0o5 if stat.S_ISDIR(mode) else 0o4
        return mode & needed != needed or any(not os.stat(up).st_mode & 0o1 for up in Path(place).parents)
    except OSError:
        return False


def readable_for(path: str, *, program: bool = False) -> tuple[str, ...]:
    """What a child may read because this path is in its command: the folder, or the file alone where that is too much.

    Nothing if the path itself is such a folder: a `.` or a `/` among the arguments opens no home and no disk.

    Of a program in a folder `bin` also the libraries beside it.
    """
    real = os.path.realpath(path)
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    readable = () if too_much(real) else (real,) if too_much(folder) else (folder,)
    homes = {os.path.dirname(os.path.dirname(place)) for place in (path, real) if program and "/bin/" in place}
    return (*readable, *(os.path.join(home, part) for home in sorted(homes) for part in _OF_PREFIX))


def too_much(folder: str) -> bool:
    """Whether this is not handed over for the sake of a file in it: everybody's folder, a whole home, the kernel's."""
    real = os.path.realpath(folder)
    of_the_kernel = f"{real}/".startswith(_OF_THE_KERNEL) and not real.startswith(_MEMORY_DISK)
    return not os.path.isabs(folder) or of_the_kernel or real in _shared_folders()


@cache
def _shared_folders() -> frozenset[str]:
    named = (os.path.expanduser("~"), os.environ.get("TMPDIR", "/tmp"), "/tmp", "/etc")  # noqa: S108  # nothing is written there
    places = [Path(os.path.realpath(place)) for place in named]
    return frozenset(str(folder) for place in places for folder in (place, *place.parents))


def free_user(taken: Iterable[int]) -> int | None:
    """A user for a child that root starts, so that rights of files and counts of processes are its own.

    None when we are not root, or may not become anybody else.
    """
    if os.getuid() != 0 or not kernel.may_become_another_user() or not _mapped():
        return None
    used = frozenset(taken)
    turned = (_USERS[(os.getpid() * 251 + step) % len(_USERS)] for step in range(len(_USERS)))
    return next((user for user in turned if user not in used), _USERS[-1])


@cache
def _mapped() -> bool:
    """Whether these users exist in our user namespace."""
    rows = [[int(word) for word in row.split()] for row in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(first <= _USERS[0] and _USERS[-1] < first + count for first, _, count in rows)


def tasks_of(user: int) -> int:
    """How many processes and threads a user has, as far as /proc shows them."""
    count = 0
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and entry.stat().st_uid == user:
                count += len(os.listdir(f"/proc/{entry.name}/task"))
        except OSError:
            continue  # it has ended
    return count


def gaps() -> tuple[str, ...]:
    """What cannot be locked here, in words; nothing when everything can."""
    if not kernel.is_linux():
        return ("this is not Linux: child players run without a lock",)
    own = os.getuid() != 0
    children: Children = "this user" if own else "root" if free_user(()) is None else "others"
    return tuple(missing(landlock.version(), has_seccomp=seccomp.available(), children=children))


Children = Literal["this user", "root", "others"]
"""As whom children run: as whoever starts them, as root, or each as a user of its own."""


def missing(version: int, *, has_seccomp: bool, children: Children) -> Iterator[str]:
    """What a kernel cannot lock that has this version of Landlock, and filters of system calls or not."""
    if not version:
        closed = "; bots in folders that are closed to other users do not start" if children == "others" else ""
        yield f"files (no Landlock): children read and write whatever their user may{closed}"
    elif version < landlock.TRUNCATES:
        yield "truncating (Landlock older than version 3): children may empty files that their user may write"
    if not has_seccomp:
        yield "system calls (no seccomp): children may open sockets and look into processes of their user"
    if version < landlock.LOCKS_TCP:
        yield "ports (Landlock older than version 4): a program that dials in reaches every TCP address"
    if version < landlock.LOCKS_SIGNALS and children == "this user":
        yield "signals (Landlock older than version 6): programs may signal other processes of this user"
    if children == "root":
        yield "the user (root that cannot become another): rights of files and numbers of processes bind no child"
