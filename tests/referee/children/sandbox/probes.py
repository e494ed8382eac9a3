"""Forbidden actions of a child: the entry of `py` children (`probes:main`), or `python probes.py PROBES TARGETS`.

Each probe prints whether its action was allowed. PROBES are names separated by commas; several probes print one line of
JSON each. The exit code is 0 for allowed and refused actions alike: the tests know which actions must be refused.
With `apart` as the third argument, each probe runs in a forked process and prints its name and its answer.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from noughts_referee.children import system_calls

Targets = dict[str, Any]
"""The targets outside the sandbox: paths, ports and processes by name."""

MIB = 1024 * 1024
_libc = ctypes.CDLL(None, use_errno=True)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _result_of_call(result: int) -> str:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"allowed: {result}"


def _buffer(count: int) -> "ctypes.Array[ctypes.c_char]":
    return ctypes.create_string_buffer(count)


def _allowed_if(has_changed: bool) -> str:
    if not has_changed:
        raise OSError("nothing has changed")
    return "allowed"


def read_passwd(targets: Targets) -> str:
    return f"allowed: {len(Path('/etc/passwd').read_text())} characters"


def read_home(targets: Targets) -> str:
    return f"allowed: {Path(targets['home'], 'diary.txt').read_text()}"


def list_home(targets: Targets) -> str:
    return f"allowed: {os.listdir(targets['home'])}"


def read_processes(targets: Targets) -> str:
    return f"allowed: {Path('/proc', str(targets['victim']), 'environ').read_text()}"


def write_outside(targets: Targets) -> str:
    return f"allowed: {Path(targets['open'], 'mine.txt').write_text('here')}"


def empty_a_file(targets: Targets) -> str:
    os.truncate(Path(targets["open"], "full.txt"), 0)
    return "allowed"


def write_beside_the_bot(targets: Targets) -> str:
    return f"allowed: {Path(targets['bot'], 'mine.txt').write_text('here')}"


def open_a_file_to_all(targets: Targets) -> str:
    file = Path(targets["open"], "full.txt")
    file.chmod(0o4777)
    return _allowed_if(file.stat().st_mode & 0o7777 == 0o4777)


def change_times(targets: Targets) -> str:
    file = Path(targets["open"], "full.txt")
    os.utime(file, (1, 1))
    return _allowed_if(file.stat().st_mtime == 1)


def date_its_answers(targets: Targets) -> str:
    os.utime(1, (1, 1))
    return _allowed_if(os.fstat(1).st_mtime == 1)


def watch_files(targets: Targets) -> str:
    return _result_of_call(_libc.inotify_add_watch(_libc.inotify_init(), os.fsencode(targets["open"]), 0xFFF))


def send_to_a_queue(targets: Targets) -> str:
    return _result_of_call(
        _libc.msgsnd(targets["queue"], ctypes.create_string_buffer(b"\1" + bytes(15), 16), 4, 0o4000)
    )


def look_at_memory(targets: Targets) -> str:
    return _result_of_call(_libc.shmctl(targets["memory"], 2, ctypes.create_string_buffer(256)))


def take_contexts(targets: Targets) -> str:
    """Take a context of asynchronous input and output; the whole machine has 65,536."""
    return _result_of_call(
        _libc.syscall(ctypes.c_long({"x86_64": 206, "aarch64": 0}[os.uname().machine]), 1, _buffer(8))
    )


def make_unlisted_calls(targets: Targets) -> str:
    """Make each call that the sandbox does not name, and numbers that Linux does not use yet."""
    tables = [value for name, value in vars(system_calls).items() if name.isupper()]
    rows = [row for table in tables for row in (table.values() if isinstance(table, dict) else (table,))]
    listed = {row[{"x86_64": 0, "aarch64": 1}[os.uname().machine]] for row in rows}
    listed |= {335, 336}  # uretprobe and uprobe pass every filter, and Linux kills their caller
    accepted = [number for number in range(600) if number not in listed and _is_accepted(number)]
    return f"allowed: {accepted}" if accepted else "refused: all of them"


def _is_accepted(number: int) -> bool:
    _libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    return ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)


def read_anothers_clock(targets: Targets) -> str:
    return f"allowed: {time.clock_gettime(~targets['victim'] << 3 | 2)}"


def time_anothers_clock(targets: Targets) -> str:
    timer = ctypes.c_int()
    return _result_of_call(_libc.timer_create(ctypes.c_int(~targets["victim"] << 3 | 2), None, ctypes.byref(timer)))


def take_all_timers(targets: Targets) -> str:
    timer, created = ctypes.c_void_p(), 0
    event = (ctypes.c_int * 16)(0, 0, 10, 0)  # a signal that a process ignores unless it handles it
    while created < 2000 and _libc.timer_create(0, event, ctypes.byref(timer)) == 0:
        created += 1
    return f"allowed: {created}" if created in (0, 2000) else "refused: more timers"


def read_anothers_cores(targets: Targets) -> str:
    return f"allowed: {os.sched_getaffinity(targets['victim'])}"


def read_anothers_policy(targets: Targets) -> str:
    """Compare an existing process with the number after the largest process ID, which no process has."""
    known = os.sched_getscheduler(targets["victim"])
    try:
        return _allowed_if(known != os.sched_getscheduler((1 << 22) + 1))
    except ProcessLookupError:
        return f"allowed: {known}"


def read_its_priority(targets: Targets) -> str:
    """Read its priority, which is lower in trials than in games, so that a bot could tell them apart."""
    return f"allowed: {os.getpriority(os.PRIO_PROCESS, 0)}"


def lock_a_file(targets: Targets) -> str:
    """Lock a file, and so send one bit to every process that can read it."""
    with Path(targets["bot"], "weights.txt").open() as first, Path(targets["bot"], "weights.txt").open() as second:
        fcntl.flock(first, fcntl.LOCK_EX)
        return _allowed_if(not _can_lock(lambda: fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)))


def lock_a_record(targets: Targets) -> str:
    with Path("records").open("wb") as first, Path("records").open("wb") as second:
        lock = struct.pack("=hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(first, fcntl.F_OFD_SETLK, lock)
        return _allowed_if(not _can_lock(lambda: fcntl.fcntl(second, fcntl.F_OFD_SETLK, lock)))


def _can_lock(lock: Callable[[], object]) -> bool:
    try:
        lock()
    except BlockingIOError:
        return False
    return True


def ask_for_locks(targets: Targets) -> str:
    with Path(targets["bot"], "weights.txt").open() as file:
        request = struct.pack("=hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        return f"allowed: {fcntl.fcntl(file, fcntl.F_GETLK, request)!r}"


def watch_a_folder(targets: Targets) -> str:
    return f"allowed: {fcntl.fcntl(os.open(targets['bot'], os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)}"


def delay_who_opens(targets: Targets) -> str:
    Path("leased").write_text("")
    return f"allowed: {fcntl.fcntl(os.open('leased', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)}"


def enlarge_a_pipe(targets: Targets) -> str:
    """Enlarge a pipe, with memory that no limit counts and that all pipes of the user share."""
    return f"allowed: {fcntl.fcntl(os.pipe()[0], fcntl.F_SETPIPE_SZ, 1 << 20)}"


def flag_a_file(targets: Targets) -> str:
    """Set a flag of a file, for which Linux needs no right to write. Its file system may not know the flag."""
    with Path(targets["bot"], "weights.txt").open() as file:
        try:
            return f"allowed: {fcntl.ioctl(file, 0x40086602, struct.pack('=q', 0x40))!r}"
        except OSError as error:
            return _allowed_if(error.errno == errno.EOPNOTSUPP)


def hide_its_files(targets: Targets) -> str:
    return _result_of_call(_libc.prctl(4, 0, 0, 0, 0))


def pass_a_file(targets: Targets) -> str:
    """Pass an open file through a socket, where no limit counts it."""
    first, second = socket.socketpair()
    with first, second:
        return f"allowed: {socket.send_fds(first, [b'.'], [0])}"


def leave_its_processors(targets: Targets) -> str:
    """Compute on the core of its opponent."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    return _allowed_if(os.sched_getaffinity(0) != before)


def open_files_of_a_thread(targets: Targets) -> str:
    """Create a thread with its own table of open files. The call is incomplete, so Linux answers EINVAL if allowed."""
    number, thread = system_calls.CLONE[{"x86_64": 0, "aarch64": 1}[os.uname().machine]], 0x10000
    _libc.syscall(ctypes.c_long(number or 0), *map(ctypes.c_long, (thread, 0, 0, 0, 0)))
    return _allowed_if(ctypes.get_errno() == errno.EINVAL)


def split_its_open_files(targets: Targets) -> str:
    """Give the calling thread a separate table of open files."""
    close_range, unshare = 436, 2
    return _result_of_call(_libc.syscall(ctypes.c_long(close_range), *map(ctypes.c_long, (1000, 1000, unshare))))


def connect_tcp(targets: Targets) -> str:
    return f"allowed: {socket.create_connection(('127.0.0.1', targets['port']), timeout=5)}"


def connect_tcp_elsewhere(targets: Targets) -> str:
    return f"allowed: {socket.create_connection(('127.0.0.1', targets['other_port']), timeout=5)}"


def listen_tcp(targets: Targets) -> str:
    return f"allowed: {socket.create_server(('127.0.0.1', 0))}"


def listen_tcp_unbound(targets: Targets) -> str:
    with socket.socket() as server:
        server.listen()
        return "allowed"


def fast_open(targets: Targets) -> str:
    with socket.socket() as client:
        return f"allowed: {client.sendto(b'hello', 0x20000000, ('127.0.0.1', targets['other_port']))}"


def send_udp(targets: Targets) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        return f"allowed: {client.sendto(b'hello', ('127.0.0.1', targets['port']))}"


def connect_unix(targets: Targets) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(targets["socket"])
        return "allowed"


def pair_of_datagrams(targets: Targets) -> str:
    return f"allowed: {socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)}"


def fork(targets: Targets) -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return f"allowed: {os.waitpid(pid, 0)}"


def execute(targets: Targets) -> str:
    os.execv("/bin/true", ["true"])


def kill(targets: Targets) -> str:
    os.kill(targets["victim"], signal.SIGKILL)
    return "allowed"


def kill_everybody(targets: Targets) -> str:
    os.kill(-1, 0)  # the signal 0 only checks the permission
    return "allowed"


def trace(targets: Targets) -> str:
    return _result_of_call(_libc.ptrace(16, targets["victim"], None, None))


def trace_self(targets: Targets) -> str:
    return _result_of_call(_libc.ptrace(0, 0, None, None))


def read_memory(targets: Targets) -> str:
    return _result_of_call(_libc.process_vm_readv(targets["victim"], None, 0, None, 0, 0))


def new_user_namespace(targets: Targets) -> str:
    return _result_of_call(_libc.unshare(0x10000000))


def outlive_the_zygote(targets: Targets) -> str:
    return _result_of_call(_libc.prctl(1, 0, 0, 0, 0))


def limit_others(targets: Targets) -> str:
    return f"allowed: {resource.prlimit(targets['victim'], resource.RLIMIT_CPU)}"


def raise_limits(targets: Targets) -> str:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return "allowed"


def become_root(targets: Targets) -> str:
    os.setresuid(0, 0, 0)
    return "allowed" if os.getuid() == 0 and targets["uid"] != 0 else "allowed to be who it is"


def allocate(targets: Targets) -> str:
    return f"allowed: {len(bytearray(400 * MIB))}"


def map_shared(targets: Targets) -> str:
    return f"allowed: {len(mmap.mmap(-1, MIB))}"


def map_shared_zeros(targets: Targets) -> str:
    """Map /dev/zero, which gives shared memory to a process that can write to it."""
    try:
        end = os.open("/dev/zero", os.O_RDWR)
    except OSError:
        end = os.open("/dev/zero", os.O_RDONLY)
    return f"allowed: {len(mmap.mmap(end, MIB))}"


def map_a_growing_stack(targets: Targets) -> str:
    """Map a growing stack, which Linux does not count as private memory."""
    growing_downwards = 0x100
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | growing_downwards
    return f"allowed: {len(mmap.mmap(-1, 600 * MIB, flags=flags))}"


def start_a_sibling(targets: Targets) -> str:
    """Create a process whose parent is the parent of its creator, which is a process started for this."""
    same_parent = 0x8000
    number = ctypes.c_long(system_calls.CLONE[{"x86_64": 0, "aarch64": 1}[os.uname().machine]] or 0)
    if os.fork() == 0:
        pid = _libc.syscall(number, *map(ctypes.c_long, (same_parent | signal.SIGCHLD, 0, 0, 0, 0)))
        os._exit(0 if pid >= 0 else ctypes.get_errno())
    reasons = []
    with suppress(ChildProcessError):
        while True:
            reasons.append(os.waitstatus_to_exitcode(os.wait()[1]))
    if reasons != [0, 0]:
        raise OSError(reasons[0], os.strerror(reasons[0]))
    return "allowed"


def enlarge_buffers(targets: Targets) -> str:
    end, _ = socket.socketpair()
    before = end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, before // 4)
    return _allowed_if(end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) != before)


def lock_a_socket_filter(targets: Targets) -> str:
    end, _ = socket.socketpair()
    lock_filter = 44
    end.setsockopt(socket.SOL_SOCKET, lock_filter, 1)
    return "allowed"


def anonymous_file(targets: Targets) -> str:
    return f"allowed: {os.memfd_create('hidden')}"


def fill_a_file(targets: Targets) -> str:
    written = 0
    with open("big", "wb", buffering=0) as file:
        try:
            while written < 64 * MIB:
                written += file.write(bytes(64 * 1024))
        except OSError as error:
            return f"refused after {written} bytes: {error}"
    return f"allowed: {written} bytes"


def open_many_files(targets: Targets) -> str:
    opened: list[int] = []
    try:
        while len(opened) < 5000:
            opened.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        return f"refused after {len(opened)}: {error}"
    return f"allowed: {len(opened)}"


def open_fds(targets: Targets) -> str:
    def is_open(fd: int) -> bool:
        try:
            os.fstat(fd)
        except OSError:
            return False
        return True

    return json.dumps([fd for fd in range(20_000) if is_open(fd)])


def environment(targets: Targets) -> str:
    return json.dumps(dict(os.environ))


def who(targets: Targets) -> str:
    return json.dumps({"uid": os.getuid(), "groups": os.getgroups(), "session": os.getsid(0), "pid": os.getpid()})


def import_modules(targets: Targets) -> str:
    import csv
    import decimal
    import sqlite3

    return f"allowed: {csv.__name__} {decimal.Decimal(1)} {sqlite3.sqlite_version}"


def read_beside_the_bot(targets: Targets) -> str:
    return f"allowed: {Path(targets['bot'], 'weights.txt').read_text()}"


def write_in_scratch(targets: Targets) -> str:
    os.mkdir("folder")
    Path("folder", "note.txt").write_text("here")
    os.rename("folder/note.txt", "note.txt")
    Path("closed").mkdir(mode=0)
    return f"allowed: {Path('note.txt').read_text()} {sorted(os.listdir('.'))}"


def copy_a_file(targets: Targets) -> str:
    import shutil

    return f"allowed: {shutil.copy2(Path(targets['bot'], 'weights.txt'), 'weights.txt')}"


def open_its_output_again(targets: Targets) -> str:
    with Path("/dev/stdout").open("w") as output:
        return f"allowed: {output.name}"


def choose_own_processors(targets: Targets) -> str:
    """Set the processors that it already has: libraries do it, and must not fail."""
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return "allowed"


def use_threads(targets: Targets) -> str:
    got: list[int] = []
    threads = [threading.Thread(target=got.append, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return f"allowed: {sorted(got)}"


def run_an_event_loop(targets: Targets) -> str:
    import asyncio

    async def late() -> str:
        await asyncio.sleep(0)
        return "allowed"

    return asyncio.run(late())


def tell_the_time(targets: Targets) -> str:
    used = (
        time.process_time(),
        time.thread_time(),
        time.clock_gettime(time.pthread_getcpuclockid(threading.get_ident())),
    )
    return f"allowed: {used} {time.monotonic() > 0} {time.localtime().tm_year > 2000} {len(os.urandom(4))}"


def start_a_program(targets: Targets) -> str:
    import subprocess

    return f"allowed: {subprocess.run(['sh', '-c', 'echo hello'], stdout=subprocess.PIPE, check=True).stdout!r}"


def dig(targets: Targets) -> str:
    """Create 1500 nested folders, deeper than Python's limit of recursion."""
    for _ in range(1500):
        os.mkdir("deeper")
        os.chdir("deeper")
    return "allowed"


def hold_deleted_files(targets: Targets) -> str:
    """Hold eight deleted files of 1 MiB for 60 s."""
    return _hold(lambda end: end)


def map_deleted_files(targets: Targets) -> str:
    """Hold the same files without descriptors, by one mapped page of each."""

    def keep(end: int) -> mmap.mmap:
        page = mmap.mmap(end, 4096)
        os.close(end)
        return page

    return _hold(keep)


def _hold(keep: Callable[[int], object]) -> str:
    held = []
    for _ in range(8):
        end = os.open("x", os.O_RDWR | os.O_CREAT)
        Path("x").unlink()
        try:
            os.write(end, bytes(MIB))
        except OSError:
            break
        held.append(keep(end))
    time.sleep(60)
    return "allowed"


def end_its_first_thread(targets: Targets) -> str:
    """End the first thread while another one runs."""
    threading.Thread(target=time.sleep, args=[60]).start()
    return _result_of_call(_libc.syscall(ctypes.c_long({"x86_64": 60, "aarch64": 93}[os.uname().machine]), 0))


def hog_memory(targets: Targets) -> str:
    held = []
    while True:
        held.append(bytearray(MIB))


def spin(targets: Targets) -> str:
    while True:
        pass


def crash(targets: Targets) -> str:
    ctypes.string_at(0)
    return "allowed"


def call_as_x32(targets: Targets) -> str:
    return _result_of_call(_libc.syscall(ctypes.c_long(0x40000000 + 39)))


def stay(targets: Targets) -> str:
    _say("staying")
    while True:
        signal.pause()


def bomb(targets: Targets) -> str:
    """Fork in all processes until Linux refuses; all processes stay."""
    read, write = os.pipe()
    leader, refused = os.getpid(), ""
    for _ in range(500):
        try:
            forked = os.fork() == 0
        except OSError as error:
            refused = str(error)
            break
        if forked:
            os.write(write, b".")
    if os.getpid() != leader:
        for fd in (0, 1, 2):
            os.close(fd)
        while True:
            signal.pause()
    return f"refused after {len(os.read(read, 100_000))}: {refused}"


def leave_a_daemon(targets: Targets) -> str:
    """Leave a grandchild in its own session after its parent has ended, and a child of it in another session."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.setsid()
                os.write(write, b".")
            os.write(write, b".")
            for fd in (0, 1, 2):
                os.close(fd)
            while True:
                signal.pause()
        os._exit(0)
    os.wait()
    while len(os.read(read, 1)) + len(os.read(read, 1)) < 2:
        pass
    return "left"


def leave_a_hopper(targets: Targets) -> str:
    """Leave a chain of processes: each forks a successor in a new session and ends at once."""
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        while True:
            if os.fork() != 0:
                os._exit(0)
            os.setsid()
    return "left"


PROBES: dict[str, Callable[[Targets], str]] = {
    name: value for name, value in list(globals().items()) if callable(value) and value.__module__ == __name__
}


def main(arguments: list[str]) -> int:
    """Run as the entry of a `py` child, with the arguments KIND PROBES targets=JSON."""
    _, names, *options = arguments
    return _try(names, json.loads(options[0].partition("=")[2]))


def _try(names: str, targets: Targets) -> int:
    several = "," in names
    for name in names.split(","):
        answer = _answer_of(name, targets)
        _say(json.dumps(answer) if several else answer)
    return 0


def _try_apart(names: str, targets: Targets) -> int:
    for name in names.split(","):
        if os.fork() == 0:
            _say(json.dumps([name, _answer_of(name, targets)]))
            os._exit(0)
        os.wait()
    return 0


def _answer_of(name: str, targets: Targets) -> str:
    try:
        return PROBES[name](targets)
    except (OSError, ValueError) as error:
        return f"refused: {error}"
    except MemoryError as error:
        if name == "hog_memory":
            raise
        return f"refused: {error!r}"


if __name__ == "__main__":
    try_probes = _try_apart if sys.argv[3:] == ["apart"] else _try
    sys.exit(try_probes(sys.argv[1], json.loads(sys.argv[2])))
