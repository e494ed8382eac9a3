"""The sandbox of a child. After the fork and before the program, `Sandbox.restrict` gives up all rights that the
child does not need.

A child can read the interpreter, shared libraries, Python's import paths, and the folder of each path in its command.
It can write to its scratch folder, and connect to one TCP port if it needs the network. `py` and `dll` run in one
process; `exec` and `gomocup` can start a limited number of programs. `gaps()` lists what this kernel cannot restrict.
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

from noughts_proto.errors import ExplainedError
from noughts_referee.children import kernel, landlock, seccomp
from noughts_referee.children.landlock import KEEP, READ, RUN, USE

_MIB = 1024 * 1024
_SHUTDOWN_CPU_SECONDS = 5
"""Seconds of processor time between the signal SIGXCPU and the end of a child."""
_SIGNALS = 1024
"""Limit of waiting signals and timers. Linux counts those of all processes of a user together."""
_RESERVED_BYTES = 4096 * _MIB
"""Address space beyond a program's memory: the runtimes of Go and Java reserve some that they never use."""

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_PROGRAMS = ("/bin", "/usr/bin", "/usr/local/bin", "/usr/libexec", "/usr/share")
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
_ZEROS = "/dev/zero"
"""Children can only read it. With the right to write, a child could map shared memory that no limit counts."""
_SINGLE_FILES = (
    "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/openssl.cnf",
    "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu/online",
)  # fmt: skip
"""Engines read the last three for the number of cores and the memory size."""
_OF_THE_KERNEL = ("/dev/", "/proc/", "/sys/")
"""Folders of devices and processes. A command that names a path in them makes no path readable."""
_MEMORY_DISK = "/dev/shm/"  # noqa: S108  # bots stored there have their own folder
_OF_PREFIX = ("bin", "lib", "lib64", "pyvenv.cfg")

_USERS = range(61184, 65520)
"""User IDs for children of root: those that systemd assigns temporarily to services."""


class SandboxIncomplete(ExplainedError):
    """The sandbox is required, and this kernel cannot provide all of it."""

    def __init__(self, missing: Iterable[str]) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"sandbox: got a kernel without complete support ({'; '.join(self.missing)}), expected Linux 6.12 or newer "
            "with Landlock and seccomp; use such a machine, or do not require the sandbox"
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a child. The first four apply to each of its processes."""

    cpu_seconds: int = 24 * 3600
    """Processor time: SIGXCPU at this limit, SIGKILL five seconds later."""
    memory_bytes: int = 384 * _MIB
    """Address space; for `exec` and `gomocup` private memory."""
    file_bytes: int = 64 * _MIB
    open_files: int = 64
    processes: int = 64
    """Processes and threads together."""
    scratch_bytes: int = 256 * _MIB
    """Size of its scratch folder. `children.watch`, not the kernel, enforces this limit and the following ones."""
    scratch_files: int = 10_000
    all_memory_bytes: int = 0
    """Memory of all children together; 0: three quarters of the machine's memory."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    limits: Limits
    scratch: str
    """Its own folder, the only one that it can write to."""
    readable: tuple[str, ...]
    """Files and folders of its command."""
    programs: bool
    user: int | None
    """The user that it becomes; None: no change."""
    tasks: int
    """Processes and threads that its user already has."""
    port: int | None = None

    def restrict(self) -> None:
        """Restrict this process permanently. Raises OSError; then it can be half restricted, and must end."""
        rules, reading = self._rules(), self._needs_reading()
        has_landlock = landlock.version() > 0
        self._limit()
        if self.user is not None:
            kernel.become(self.user)
        kernel.drop_capabilities(but_reading=reading and has_landlock)
        # Changing the user clears this, and a sandboxed process cannot change it.
        kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        kernel.control_process(kernel.SET_NO_NEW_PRIVILEGES, 1)
        if has_landlock:
            landlock.restrict(rules, () if self.port is None else (self.port,))
        if seccomp.available():
            own_pid = None if self.programs else os.getpid()
            seccomp.restrict(own_pid=own_pid, tcp=self.port is not None, own_user=self.user is not None)

    def rehearse(self) -> None:
        """Do the part of `restrict` that has no effect. Raises OSError."""
        rules = self._rules()
        self._needs_reading()
        if landlock.version() > 0:
            landlock.rehearse(rules)
        if seccomp.available():
            seccomp.rehearse()

    def _rules(self) -> list[tuple[str, int]]:
        """Return paths and the rights on each."""
        reading = RUN if self.programs else READ
        own = ((path, reading) for path in self.readable)
        return [*_common_rules(self.programs), *own, *_own_pipes(), (self.scratch, KEEP | reading)]

    def _needs_reading(self) -> bool:
        """Return whether the child must read paths that its user cannot reach."""
        parent = os.path.dirname(os.path.dirname(self.scratch))
        return _has_closed_common_path(self.programs) or any(_closed(path) for path in (*self.readable, parent))

    def _limit(self) -> None:
        limits = self.limits
        reserved = _RESERVED_BYTES if self.programs else 0
        for what, most in (
            (resource.RLIMIT_AS, limits.memory_bytes + reserved),
            (resource.RLIMIT_DATA, limits.memory_bytes),
            (resource.RLIMIT_FSIZE, limits.file_bytes),
            (resource.RLIMIT_NOFILE, limits.open_files),
            (resource.RLIMIT_NPROC, limits.processes + self.tasks),
            (resource.RLIMIT_SIGPENDING, _SIGNALS),
            (resource.RLIMIT_CORE, 0),
        ):
            _set_limit(what, most, most)
        _set_limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + _SHUTDOWN_CPU_SECONDS)


def warm_up() -> None:
    """Compute the paths that all children can read, so that forked processes inherit the result."""
    for programs in (False, True):
        _has_closed_common_path(programs)


def forbid() -> None:
    """Refuse the calls that neither children nor the zygote need.

    The zygote does this once, because it takes milliseconds.
    """
    if seccomp.available():
        kernel.control_process(kernel.SET_NO_NEW_PRIVILEGES, 1)
        seccomp.restrict_family()


def _set_limit(what: int, soft: int, hard: int) -> None:
    """Set a limit, but not above the current one, which only root can raise."""
    _, now = resource.getrlimit(what)
    if now != resource.RLIM_INFINITY:
        soft, hard = min(soft, now), min(hard, now)
    resource.setrlimit(what, (soft, hard))


@cache
def _common_rules(programs: bool) -> list[tuple[str, int]]:
    """Return the rules that are the same for every child: readable paths and devices."""
    own = [os.path.join(prefix, part) for prefix in {sys.prefix, sys.base_prefix} for part in _OF_PREFIX]
    imported = [path for path in sys.path if not is_too_broad(path)]
    readable = [*_LIBRARIES, *_SINGLE_FILES, *own, *imported, *(_PROGRAMS if programs else ())]
    reading = RUN if programs else READ
    places = {Path(path).resolve() for path in readable if os.path.exists(path)}
    # Paths inside other ones are left out, because each path costs every child some microseconds.
    outermost = sorted(str(place) for place in places if not places.intersection(place.parents))
    devices = ((path, USE) for path in _DEVICES)
    return [*((path, reading) for path in outermost), *devices, (_ZEROS, READ)]


def _own_pipes() -> list[tuple[str, int]]:
    """Return the named pipes among its standard files. Programs open them again as /dev/stdin and /dev/stdout."""
    paths = [f"/proc/self/fd/{end}" for end in (0, 1)]
    return [(path, USE) for path in paths if stat.S_ISFIFO(os.stat(path).st_mode) and os.readlink(path).startswith("/")]


@cache
def _has_closed_common_path(programs: bool) -> bool:
    return any(_closed(path) for path, _ in _common_rules(programs))


def _closed(path: str) -> bool:
    """Return whether a user without rights cannot reach the path."""
    place = os.path.realpath(path)
    try:
        mode = os.stat(place).st_mode
        needed = 0o5 if stat.S_ISDIR(mode) else 0o4
        return mode & needed != needed or any(not os.stat(up).st_mode & 0o1 for up in Path(place).parents)
    except OSError:
        return False


def readable_for(path: str, *, program: bool = False) -> tuple[str, ...]:
    """Return the paths that a child can read because its command names this path.

    These are the folder of the path, or only the file if its folder is shared. A shared folder itself adds no path, so
    that `.` or `/` as an argument opens no home and no disk. A program in a folder `bin` also gets the libraries next
    to it.
    """
    real = os.path.realpath(path)
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    readable: tuple[str, ...] = (folder,)
    if is_too_broad(real):
        readable = ()
    elif is_too_broad(folder):
        readable = (real,)
    homes = {os.path.dirname(os.path.dirname(place)) for place in (path, real) if program and "/bin/" in place}
    return (*readable, *(os.path.join(home, part) for home in sorted(homes) for part in _OF_PREFIX))


def is_too_broad(folder: str) -> bool:
    """Return whether a command must not make this folder readable: it is shared, a home, or a folder of the kernel."""
    real = os.path.realpath(folder)
    of_the_kernel = f"{real}/".startswith(_OF_THE_KERNEL) and not real.startswith(_MEMORY_DISK)
    return not os.path.isabs(folder) or of_the_kernel or real in _shared_folders()


@cache
def _shared_folders() -> frozenset[str]:
    named = (os.path.expanduser("~"), os.environ.get("TMPDIR", "/tmp"), "/tmp", "/etc")  # noqa: S108  # nothing is written there
    places = [Path(os.path.realpath(place)) for place in named]
    return frozenset(str(folder) for place in places for folder in (place, *place.parents))


def free_user(taken: Iterable[int]) -> int | None:
    """Return a separate user ID for a child of root; None if this process is not root or cannot change its user.

    The child then shares its file rights and its process limit with no other child.
    """
    if os.getuid() != 0 or not kernel.may_become_another_user() or not _mapped():
        return None
    used = frozenset(taken)
    candidates = (_USERS[(os.getpid() * 251 + step) % len(_USERS)] for step in range(len(_USERS)))
    return next((user for user in candidates if user not in used), _USERS[-1])


@cache
def _mapped() -> bool:
    """Return whether the users of `_USERS` exist in this user namespace."""
    rows = [[int(word) for word in row.split()] for row in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(first <= _USERS[0] and _USERS[-1] < first + count for first, _, count in rows)


def tasks_of(user: int, *, in_namespace: bool = False) -> int:
    """Return the number of processes and threads of a user, as far as /proc shows them.

    With `in_namespace`, only those in the user namespace of this process, as Linux counts them there.
    """
    count = 0
    own_namespace = os.stat("/proc/self/ns/user").st_ino
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and entry.stat().st_uid == user:
                if in_namespace and os.stat(f"/proc/{entry.name}/ns/user").st_ino != own_namespace:
                    continue
                count += len(os.listdir(f"/proc/{entry.name}/task"))
        except OSError:
            continue  # it has ended
    return count


def gaps() -> tuple[str, ...]:
    """Return descriptions of what cannot be restricted here; empty if everything can."""
    if not kernel.is_linux():
        return ("this is not Linux: child players run without a sandbox",)
    children: Children = "others"
    if os.getuid() != 0:
        children = "this user"
    elif free_user(()) is None:
        children = "root"
    return tuple(missing(landlock.version(), has_seccomp=seccomp.available(), children=children))


Children = Literal["this user", "root", "others"]
"""The user of the children: the same as the referee's, root, or a separate one for each."""


def missing(version: int, *, has_seccomp: bool, children: Children) -> Iterator[str]:
    """Yield what a kernel with this Landlock version, with or without system call filters, cannot restrict."""
    if not version:
        closed = "; bots in folders that are closed to other users do not start" if children == "others" else ""
        yield f"files (no Landlock): children can read and write whatever their user can{closed}"
    elif version < landlock.TRUNCATES:
        yield "truncating (Landlock older than version 3): children can empty files that their user can write"
    if not has_seccomp:
        yield "system calls (no seccomp): children can open sockets and inspect processes of their user"
    if version < landlock.LOCKS_TCP:
        yield "ports (Landlock older than version 4): a program that connects by itself reaches every TCP address"
    if version < landlock.LOCKS_SIGNALS and children == "this user":
        yield "signals (Landlock older than version 6): programs can signal other processes of this user"
    if children == "root":
        yield "the user (root cannot switch to another): file permissions and process limits do not restrict children"
