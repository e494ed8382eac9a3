"""Forbidden actions of a child: the entry of `py` children (`probes:main`), or `python probes.py PROBES GROUND`.

Each probe prints what it got; of several, with commas between their names, each prints one line of JSON. The child
ends with 0 whatever they got: whether a probe should have been refused, the tests know.
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

Ground = dict[str, Any]
"""The targets outside: paths, ports and processes."""

MIB = 1024 * 1024
_libc = ctypes.CDLL(None, use_errno=True)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _called(result: int) -> str:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"allowed: {result}"


def _buffer(count: int) -> "ctypes.Array[ctypes.c_char]":
    return ctypes.create_string_buffer(count)


def _changed(is_so: bool) -> str:
    if not is_so:
        raise OSError("nothing has changed")
    return "allowed"


def read_passwd(ground: Ground) -> str:
    return f"allowed: {len(Path('/etc/passwd').read_text())} characters"


def read_home(ground: Ground) -> str:
    return f"allowed: {Path(ground['home'], 'diary.txt').read_text()}"


def list_home(ground: Ground) -> str:
    return f"allowed: {os.listdir(ground['home'])}"


def read_processes(ground: Ground) -> str:
    return f"allowed: {Path('/proc', str(ground['victim']), 'environ').read_text()}"


def write_outside(ground: Ground) -> str:
    return f"allowed: {Path(ground['open'], 'mine.txt').write_text('here')}"


def empty_a_file(ground: Ground) -> str:
    os.truncate(Path(ground["open"], "full.txt"), 0)
    return "allowed"


def write_beside_the_bot(ground: Ground) -> str:
    return f"allowed: {Path(ground['bot'], 'mine.txt').write_text('here')}"


def open_a_file_to_all(ground: Ground) -> str:
    file = Path(ground["open"], "full.txt")
    file.chmod(0o4777)
    return _changed(file.stat().st_mode & 0o7777 == 0o4777)


def change_times(ground: Ground) -> str:
    file = Path(ground["open"], "full.txt")
    os.utime(file, (1, 1))
    return _changed(file.stat().st_mtime == 1)


def date_its_answers(ground: Ground) -> str:
    os.utime(1, (1, 1))
    return _changed(os.fstat(1).st_mtime == 1)


def watch_files(ground: Ground) -> str:
    return _called(_libc.inotify_add_watch(_libc.inotify_init(), os.fsencode(ground["open"]), 0xFFF))


def send_to_a_queue(ground: Ground) -> str:
    return _called(_libc.msgsnd(ground["queue"], ctypes.create_string_buffer(b"\1" + bytes(15), 16), 4, 0o4000))


def look_at_memory(ground: Ground) -> str:
    return _called(_libc.shmctl(ground["memory"], 2, ctypes.create_string_buffer(256)))


def take_contexts(ground: Ground) -> str:
    """The contexts of asynchronous input and output that it takes: the machine has 65,536."""
    return _called(_libc.syscall(ctypes.c_long({"x86_64": 206, "aarch64": 0}[os.uname().machine]), 1, _buffer(8)))


def make_unlisted_calls(ground: Ground) -> str:
    """Every call that the sandbox does not name, also those that Linux does not have yet."""
    tables = [value for name, value in vars(system_calls).items() if name.isupper()]
    rows = [row for table in tables for row in (table.values() if isinstance(table, dict) else (table,))]
    listed = {row[{"x86_64": 0, "aarch64": 1}[os.uname().machine]] for row in rows}
    listed |= {335, 336}  # uretprobe and uprobe pass every filter; Linux kills who calls them
    made = [number for number in range(600) if number not in listed and _is_made(number)]
    return f"allowed: {made}" if made else "refused: all of them"


def _is_made(number: int) -> bool:
    _libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    return ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)


def read_anothers_clock(ground: Ground) -> str:
    return f"allowed: {time.clock_gettime(~ground['victim'] << 3 | 2)}"


def time_anothers_clock(ground: Ground) -> str:
    timer = ctypes.c_int()
    return _called(_libc.timer_create(ctypes.c_int(~ground["victim"] << 3 | 2), None, ctypes.byref(timer)))


def take_all_timers(ground: Ground) -> str:
    timer, made = ctypes.c_void_p(), 0
    event = (ctypes.c_int * 16)(0, 0, 10, 0)  # a signal that a process ignores unless it handles it
    while made < 2000 and _libc.timer_create(0, event, ctypes.byref(timer)) == 0:
        made += 1
    return f"allowed: {made}" if made in (0, 2000) else "refused: more timers"


def read_anothers_cores(ground: Ground) -> str:
    return f"allowed: {os.sched_getaffinity(ground['victim'])}"


def read_anothers_policy(ground: Ground) -> str:
    """Which exists. No process has the number behind the largest one."""
    known = os.sched_getscheduler(ground["victim"])
    try:
        return _changed(known != os.sched_getscheduler((1 << 22) + 1))
    except ProcessLookupError:
        return f"allowed: {known}"


def read_its_priority(ground: Ground) -> str:
    """Which is lower in a trial than in games."""
    return f"allowed: {os.getpriority(os.PRIO_PROCESS, 0)}"


def lock_a_file(ground: Ground) -> str:
    """With one bit for everyone who can read it."""
    with Path(ground["bot"], "weights.txt").open() as first, Path(ground["bot"], "weights.txt").open() as second:
        fcntl.flock(first, fcntl.LOCK_EX)
        return _changed(not _can_lock(lambda: fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)))


def lock_a_record(ground: Ground) -> str:
    with Path("records").open("wb") as first, Path("records").open("wb") as second:
        lock = struct.pack("=hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(first, fcntl.F_OFD_SETLK, lock)
        return _changed(not _can_lock(lambda: fcntl.fcntl(second, fcntl.F_OFD_SETLK, lock)))


def _can_lock(lock: Callable[[], object]) -> bool:
    try:
        lock()
    except BlockingIOError:
        return False
    return True


def ask_for_locks(ground: Ground) -> str:
    with Path(ground["bot"], "weights.txt").open() as file:
        asked = struct.pack("=hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        return f"allowed: {fcntl.fcntl(file, fcntl.F_GETLK, asked)!r}"


def watch_a_folder(ground: Ground) -> str:
    return f"allowed: {fcntl.fcntl(os.open(ground['bot'], os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)}"


def delay_who_opens(ground: Ground) -> str:
    Path("leased").write_text("")
    return f"allowed: {fcntl.fcntl(os.open('leased', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)}"


def enlarge_a_pipe(ground: Ground) -> str:
    """With memory that no limit counts and all pipes of its user share."""
    return f"allowed: {fcntl.fcntl(os.pipe()[0], fcntl.F_SETPIPE_SZ, 1 << 20)}"


def flag_a_file(ground: Ground) -> str:
    """Avoid a core dump, which needs no right to write."""
    with Path(ground["bot"], "weights.txt").open() as file:
        return f"allowed: {fcntl.ioctl(file, 0x40086602, struct.pack('=q', 0x40))!r}"


def hide_its_files(ground: Ground) -> str:
    return _called(_libc.prctl(4, 0, 0, 0, 0))


def pass_a_file(ground: Ground) -> str:
    """Write to a socket, where no limit counts the bytes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        return f"allowed: {socket.send_fds(ours, [b'.'], [0])}"


def leave_its_processors(ground: Ground) -> str:
    """Compute on the core of its opponent."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    return _changed(os.sched_getaffinity(0) != before)


def open_files_of_a_thread(ground: Ground) -> str:
    """Which no check sees, beyond its limit. Linux itself finds the call invalid: a part of it is missing."""
    number, thread = system_calls.CLONE[{"x86_64": 0, "aarch64": 1}[os.uname().machine]], 0x10000
    _libc.syscall(ctypes.c_long(number or 0), *map(ctypes.c_long, (thread, 0, 0, 0, 0)))
    return _changed(ctypes.get_errno() == errno.EINVAL)


def split_its_open_files(ground: Ground) -> str:
    """For the thread that calls, as before."""
    close_range, unshare = 436, 2
    return _called(_libc.syscall(ctypes.c_long(close_range), *map(ctypes.c_long, (1000, 1000, unshare))))


def connect_tcp(ground: Ground) -> str:
    return f"allowed: {socket.create_connection(('127.0.0.1', ground['port']), timeout=5)}"


def connect_tcp_elsewhere(ground: Ground) -> str:
    return f"allowed: {socket.create_connection(('127.0.0.1', ground['other_port']), timeout=5)}"


def listen_tcp(ground: Ground) -> str:
    return f"allowed: {socket.create_server(('127.0.0.1', 0))}"


def listen_tcp_unbound(ground: Ground) -> str:
    with socket.socket() as server:
        server.listen()
        return "allowed"


def fast_open(ground: Ground) -> str:
    with socket.socket() as client:
        return f"allowed: {client.sendto(b'hello', 0x20000000, ('127.0.0.1', ground['other_port']))}"


def send_udp(ground: Ground) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        return f"allowed: {client.sendto(b'hello', ('127.0.0.1', ground['port']))}"


def connect_unix(ground: Ground) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(ground["socket"])
        return "allowed"


def pair_of_datagrams(ground: Ground) -> str:
    return f"allowed: {socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)}"


def fork(ground: Ground) -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return f"allowed: {os.waitpid(pid, 0)}"


def execute(ground: Ground) -> str:
    os.execv("/bin/true", ["true"])


def kill(ground: Ground) -> str:
    os.kill(ground["victim"], signal.SIGKILL)
    return "allowed"


def kill_everybody(ground: Ground) -> str:
    os.kill(-1, 0)  # nobody is hurt if it is allowed
    return "allowed"


def trace(ground: Ground) -> str:
    return _called(_libc.ptrace(16, ground["victim"], None, None))


def trace_self(ground: Ground) -> str:
    return _called(_libc.ptrace(0, 0, None, None))


def read_memory(ground: Ground) -> str:
    return _called(_libc.process_vm_readv(ground["victim"], None, 0, None, 0, 0))


def new_user_namespace(ground: Ground) -> str:
    return _called(_libc.unshare(0x10000000))


def outlive_the_zygote(ground: Ground) -> str:
    return _called(_libc.prctl(1, 0, 0, 0, 0))


def limit_others(ground: Ground) -> str:
    return f"allowed: {resource.prlimit(ground['victim'], resource.RLIMIT_CPU)}"


def raise_limits(ground: Ground) -> str:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return "allowed"


def become_root(ground: Ground) -> str:
    os.setresuid(0, 0, 0)
    return "allowed" if os.getuid() == 0 and ground["uid"] != 0 else "allowed to be who it is"


def allocate(ground: Ground) -> str:
    return f"allowed: {len(bytearray(400 * MIB))}"


def map_shared(ground: Ground) -> str:
    return f"allowed: {len(mmap.mmap(-1, MIB))}"


def map_shared_zeros(ground: Ground) -> str:
    """The device gives shared memory to those who can write to it."""
    try:
        end = os.open("/dev/zero", os.O_RDWR)
    except OSError:
        end = os.open("/dev/zero", os.O_RDONLY)
    return f"allowed: {len(mmap.mmap(end, MIB))}"


def map_a_growing_stack(ground: Ground) -> str:
    """Beyond the limit of private memory, as which Linux does not count it."""
    growing_downwards = 0x100
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | growing_downwards
    return f"allowed: {len(mmap.mmap(-1, 600 * MIB, flags=flags))}"


def start_a_sibling(ground: Ground) -> str:
    """A process whose parent is that of its creator: here of a process started for this."""
    same_parent = 0x8000
    number = ctypes.c_long(system_calls.CLONE[{"x86_64": 0, "aarch64": 1}[os.uname().machine]] or 0)
    if os.fork() == 0:
        made = _libc.syscall(number, *map(ctypes.c_long, (same_parent | signal.SIGCHLD, 0, 0, 0, 0)))
        os._exit(0 if made >= 0 else ctypes.get_errno())
    reasons = []
    with suppress(ChildProcessError):
        while True:
            reasons.append(os.waitstatus_to_exitcode(os.wait()[1]))
    if reasons != [0, 0]:
        raise OSError(reasons[0], os.strerror(reasons[0]))
    return "allowed"


def enlarge_buffers(ground: Ground) -> str:
    ours, _ = socket.socketpair()
    before = ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, before // 4)
    return _changed(ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) != before)


def lock_a_socket_filter(ground: Ground) -> str:
    ours, _ = socket.socketpair()
    lock_filter = 44
    ours.setsockopt(socket.SOL_SOCKET, lock_filter, 1)
    return "allowed"


def anonymous_file(ground: Ground) -> str:
    return f"allowed: {os.memfd_create('hidden')}"


def fill_a_file(ground: Ground) -> str:
    written = 0
    with open("big", "wb", buffering=0) as file:
        try:
            while written < 64 * MIB:
                written += file.write(bytes(64 * 1024))
        except OSError as error:
            return f"refused after {written} bytes: {error}"
    return f"allowed: {written} bytes"


def open_many_files(ground: Ground) -> str:
    opened: list[int] = []
    try:
        while len(opened) < 5000:
            opened.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        return f"refused after {len(opened)}: {error}"
    return f"allowed: {len(opened)}"


def open_fds(ground: Ground) -> str:
    def is_open(fd: int) -> bool:
        try:
            os.fstat(fd)
        except OSError:
            return False
        return True

    return json.dumps([fd for fd in range(20_000) if is_open(fd)])


def environment(ground: Ground) -> str:
    return json.dumps(dict(os.environ))


def who(ground: Ground) -> str:
    return json.dumps({"uid": os.getuid(), "groups": os.getgroups(), "session": os.getsid(0), "pid": os.getpid()})


def import_modules(ground: Ground) -> str:
    import csv
    import decimal
    import sqlite3

    return f"allowed: {csv.__name__} {decimal.Decimal(1)} {sqlite3.sqlite_version}"


def read_beside_the_bot(ground: Ground) -> str:
    return f"allowed: {Path(ground['bot'], 'weights.txt').read_text()}"


def write_in_scratch(ground: Ground) -> str:
    os.mkdir("folder")
    Path("folder", "note.txt").write_text("here")
    os.rename("folder/note.txt", "note.txt")
    Path("closed").mkdir(mode=0)
    return f"allowed: {Path('note.txt').read_text()} {sorted(os.listdir('.'))}"


def copy_a_file(ground: Ground) -> str:
    import shutil

    return f"allowed: {shutil.copy2(Path(ground['bot'], 'weights.txt'), 'weights.txt')}"


def open_its_output_again(ground: Ground) -> str:
    with Path("/dev/stdout").open("w") as output:
        return f"allowed: {output.name}"


def choose_own_processors(ground: Ground) -> str:
    """Without effect: libraries do it, and must not fail."""
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return "allowed"


def use_threads(ground: Ground) -> str:
    got: list[int] = []
    threads = [threading.Thread(target=got.append, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return f"allowed: {sorted(got)}"


def run_an_event_loop(ground: Ground) -> str:
    import asyncio

    async def late() -> str:
        await asyncio.sleep(0)
        return "allowed"

    return asyncio.run(late())


def tell_the_time(ground: Ground) -> str:
    used = (
        time.process_time(),
        time.thread_time(),
        time.clock_gettime(time.pthread_getcpuclockid(threading.get_ident())),
    )
    return f"allowed: {used} {time.monotonic() > 0} {time.localtime().tm_year > 2000} {len(os.urandom(4))}"


def start_a_program(ground: Ground) -> str:
    import subprocess

    return f"allowed: {subprocess.run(['sh', '-c', 'echo hello'], stdout=subprocess.PIPE, check=True).stdout!r}"


def dig(ground: Ground) -> str:
    """Folders one in another, more than Python may recurse into."""
    for _ in range(1500):
        os.mkdir("deeper")
        os.chdir("deeper")
    return "allowed"


def hold_deleted_files(ground: Ground) -> str:
    """Eight of a mebibyte, for as long as it may."""
    return _hold(lambda end: end)


def map_deleted_files(ground: Ground) -> str:
    """The same without an open file: one page of each is in its memory."""

    def keep(end: int) -> mmap.mmap:
        page = mmap.mmap(end, 4096)
        os.close(end)
        return page

    return _hold(keep)


def _hold(keep: Callable[[int], object]) -> str:
    kept = []
    for _ in range(8):
        end = os.open("x", os.O_RDWR | os.O_CREAT)
        Path("x").unlink()
        try:
            os.write(end, bytes(MIB))
        except OSError:
            break
        kept.append(keep(end))
    time.sleep(60)
    return "allowed"


def end_its_first_thread(ground: Ground) -> str:
    """End the first thread while another one runs."""
    threading.Thread(target=time.sleep, args=[60]).start()
    return _called(_libc.syscall(ctypes.c_long({"x86_64": 60, "aarch64": 93}[os.uname().machine]), 0))


def hog_memory(ground: Ground) -> str:
    kept = []
    while True:
        kept.append(bytearray(MIB))


def spin(ground: Ground) -> str:
    while True:
        pass


def crash(ground: Ground) -> str:
    ctypes.string_at(0)
    return "allowed"


def call_as_x32(ground: Ground) -> str:
    return _called(_libc.syscall(ctypes.c_long(0x40000000 + 39)))


def stay(ground: Ground) -> str:
    _say("staying")
    while True:
        signal.pause()


def bomb(ground: Ground) -> str:
    """Forks for as long as it may, also in what it forked; all of them stay."""
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


def leave_a_daemon(ground: Ground) -> str:
    """A grandchild in a session of its own, whose parent has gone, and which has one more of its kind."""
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


def leave_a_hopper(ground: Ground) -> str:
    """A process that never stays: it forks, and ends, and what it forked does the same in a session of its own."""
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        while True:
            if os.fork() != 0:
                os._exit(0)
            os.setsid()
    return "left"


PROBES: dict[str, Callable[[Ground], str]] = {
    name: found for name, found in list(globals().items()) if callable(found) and found.__module__ == __name__
}


def main(arguments: list[str]) -> int:
    """The entry: KIND PROBES ground=JSON."""
    _, names, *options = arguments
    return _try(names, json.loads(options[0].partition("=")[2]))


def _try(names: str, ground: Ground) -> int:
    several = "," in names
    for name in names.split(","):
        got = _got(name, ground)
        _say(json.dumps(got) if several else got)
    return 0


def _got(name: str, ground: Ground) -> str:
    try:
        return PROBES[name](ground)
    except (OSError, ValueError) as error:
        return f"refused: {error}"
    except MemoryError as error:
        if name == "hog_memory":
            raise
        return f"refused: {error!r}"


if __name__ == "__main__":
    sys.exit(_try(sys.argv[1], json.loads(sys.argv[2])))
