"""A seccomp filter: the system calls that a child can make.

`system_calls` lists the allowed ones. A child can make no other call, also not those that later versions of Linux add.
Refused calls fail with EPERM, so that a program can continue without them, and calls newer than this module with
ENOSYS, so that a library falls back to an older one. A child that uses the calls of another architecture (32-bit, x32)
is killed.
"""

import errno
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from ctypes import addressof, create_string_buffer
from socket import AF_INET, AF_INET6, AF_UNIX, IPPROTO_TCP, SOL_SOCKET

from noughts_referee.children import system_calls as calls
from noughts_referee.children.kernel import call, is_linux

_MACHINE = os.uname().machine
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEWEST = 469
_FIRST_OF_X32 = 0x40000000
_SET_FILTER, _IS_ACTION_KNOWN = 1, 2

_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_REFUSE, _UNKNOWN, _PRETEND = _FAIL | errno.EPERM, _FAIL | errno.ENOSYS, _FAIL | 0
_UNSUPPORTED, _NO_TERMINAL, _INVALID = _FAIL | errno.EOPNOTSUPP, _FAIL | errno.ENOTTY, _FAIL | errno.EINVAL
# Instructions of classic BPF, and the offsets of the call's arguments (lower halves, little endian).
_LOAD, _IF_EQUAL, _IF_GREATER, _IF_ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_THREAD, _SAME_FILES = 0x10000, 0x400
"""CLONE_THREAD and CLONE_FILES. No check and no limit sees files that a single thread holds open."""
_UNSHARE_FILES = 2
"""CLOSE_RANGE_UNSHARE."""
_NAME_SPACES_AND_SIBLINGS = 0x7E020000 | 0x8000
"""CLONE_PARENT is the last: the zygote would be the parent of a process that no limit of its child counts."""
_HIDDEN_MEMORY = 0x21
"""MAP_SHARED and MAP_ANONYMOUS. If a child unmaps most of such a mapping, its memory remains, and nothing counts it."""
_GROWING_MEMORY = 0x100
"""MAP_GROWSDOWN: the kernel counts it as a stack, not as private memory."""
_KIND_OF_SOCKET, _STREAM, _FAST_OPEN = 0xF, 1, 0x20000000
_FILTERS_AND_MARKS = {
    "SO_ATTACH_FILTER": 26,
    "SO_DETACH_FILTER": 27,
    "SO_MARK": 36,
    "SO_LOCK_FILTER": 44,
    "SO_ATTACH_BPF": 50,
    "SO_ATTACH_REUSEPORT_CBPF": 51,
    "SO_ATTACH_REUSEPORT_EBPF": 52,
}
"""Options of `SOL_SOCKET` that attach, detach and lock programs of the kernel, or choose routes."""
_SIZES_OF_BUFFERS = {"SO_SNDBUF": 7, "SO_RCVBUF": 8}
"""No check counts the memory of buffers."""
_DEVICE_CONTROLS = {
    # They fail on a pipe, which tells a program that the pipe is not a terminal.
    "TCGETS": 0x5401,
    "TIOCGWINSZ": 0x5413,
    "TIOCGPGRP": 0x540F,
    "FIONREAD": 0x541B,
    "FIONBIO": 0x5421,
    "FIONCLEX": 0x5450,
    "FIOCLEX": 0x5451,
}
"""Other controls set attributes of files, which needs no right to write, or belong to devices."""
_FILE_CONTROLS = {
    "F_DUPFD": 0,
    "F_GETFD": 1,
    "F_SETFD": 2,
    "F_GETFL": 3,
    "F_SETFL": 4,
    "F_DUPFD_CLOEXEC": 1030,
    "F_GETPIPE_SZ": 1032,
}
"""Others watch folders (F_NOTIFY), delay programs that open a file (F_SETLEASE), or signal processes (F_SETOWN).

F_SETPIPE_SZ takes memory that no limit of a child counts and that all pipes of its user share.
"""
_FILE_LOCKS = {"F_SETLK": 6, "F_SETLKW": 7, "F_OFD_SETLK": 37, "F_OFD_SETLKW": 38}
_SHARED_MEMORY_ADVICE = {
    "MADV_MERGEABLE": 12,
    "MADV_COLD": 20,
    "MADV_PAGEOUT": 21,
    "MADV_HWPOISON": 100,
    "MADV_SOFT_OFFLINE": 101,
}
"""Advice with effects that other processes can notice."""
_OWN_ATTRIBUTES = {
    "PR_GET_PDEATHSIG": 2,
    "PR_GET_DUMPABLE": 3,
    "PR_GET_KEEPCAPS": 7,
    "PR_SET_NAME": 15,
    "PR_GET_NAME": 16,
    "PR_GET_SECCOMP": 21,
    "PR_CAPBSET_READ": 23,
    "PR_SET_TIMERSLACK": 29,
    "PR_GET_TIMERSLACK": 30,
    "PR_SET_NO_NEW_PRIVS": 38,
    "PR_GET_NO_NEW_PRIVS": 39,
    "PR_GET_TID_ADDRESS": 40,
    "PR_SET_THP_DISABLE": 41,
    "PR_GET_THP_DISABLE": 42,
    "PR_GET_SPECULATION_CTRL": 52,
    "PR_SET_SPECULATION_CTRL": 53,
    # Vectors, pointers and memory tags of ARM64.
    "PR_SVE_SET_VL": 50,
    "PR_SVE_GET_VL": 51,
    "PR_PAC_RESET_KEYS": 54,
    "PR_SET_TAGGED_ADDR_CTRL": 55,
    "PR_GET_TAGGED_ADDR_CTRL": 56,
    "PR_PAC_SET_ENABLED_KEYS": 60,
    "PR_PAC_GET_ENABLED_KEYS": 61,
    "PR_SME_SET_VL": 63,
    "PR_SME_GET_VL": 64,
    # Memory that can be either written or executed.
    "PR_SET_MDWE": 65,
    "PR_GET_MDWE": 66,
    # Names of memory.
    "PR_SET_VMA": 0x53564D41,
}
"""Options of `prctl`. PR_SET_DUMPABLE is missing, because a child could hide its open files from `watch` with it."""
_LAST_CLOCK, _OWN_THREADS, _OWN_PROCESS = 0x7FFFFFFF, 4, 0xFFFFFFF7
"""The largest number of a common clock, the bit of a thread's clock, and the limit of the caller's own clocks.

Clocks of processes and threads have negative numbers. Linux allows only clocks of own threads. Numbers above the last
belong to process 0, which means the caller.
"""

_Instruction = tuple[int, int, int, int]
"""Code, instructions to skip if true and if false, and a value."""

_RETURN_REFUSE: list[_Instruction] = [(_RETURN, 0, 0, _REFUSE)]


def available() -> bool:
    """Return whether this kernel has such filters and this module has its call numbers."""
    if not is_linux() or _MACHINE not in _SECCOMP:
        return False
    try:
        call(_SECCOMP[_MACHINE], _IS_ACTION_KNOWN, 0, struct.pack("=I", _KILL))
        call(_SECCOMP[_MACHINE], _SET_FILTER, 0, 0)
    except OSError as error:
        return error.errno == errno.EFAULT  # the kernel tried to read the filter, so it has filters
    return False


def restrict_family() -> None:
    """Refuse the calls that no child and no zygote needs, permanently, also to descendants. Raises OSError.

    This takes milliseconds. `restrict` is faster, but only the two together are complete. Both need `no_new_privs`.
    """
    _install(_for_family())


def restrict(*, own_pid: int | None, tcp: bool, own_user: bool) -> None:
    """Refuse what this child must not do, permanently. Raises OSError.

    With `own_pid`, it can start threads but no processes or programs, and signal only itself. `tcp` allows TCP sockets;
    Landlock limits where they connect. Without `own_user`, its user has other files and processes. Changes of mode,
    owner, times and attributes of files then succeed without effect.
    """
    _install(_for_child(own_pid, tcp=tcp, own_user=own_user))


def rehearse() -> None:
    """Build the filter of a child that starts no programs, without any effect."""
    _program(_for_child(0, tcp=False, own_user=True))


def _install(blocks: Iterable[_Instruction]) -> None:
    program = _program(blocks)
    code = create_string_buffer(b"".join(program))
    call(_SECCOMP[_MACHINE], _SET_FILTER, 0, struct.pack("=HxxxxxxQ", len(program), addressof(code)))


def _program(blocks: Iterable[_Instruction]) -> list[bytes]:
    start: list[_Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE), *_return_unless(_IF_EQUAL, _AUDIT[_MACHINE], _KILL)]
    program = [*start, (_LOAD, 0, 0, _NUMBER), *blocks]
    return [struct.pack("=HBBI", *instruction) for instruction in program]


def _for_family() -> Iterator[_Instruction]:
    yield from _if(_IF_GREATER, _FIRST_OF_X32 - 1, _KILL)
    yield from _if(_IF_GREATER, _NEWEST, _UNKNOWN)
    # A filter cannot see the flags of clone3. Libraries then use clone.
    yield from _when(calls.CLONE3, [(_RETURN, 0, 0, _UNKNOWN)])
    yield from _when(calls.CLONE, _clone())
    yield from _when(calls.CLOSE_RANGE, [*_argument(2), *_if(_IF_ANY_BIT, _UNSHARE_FILES, _INVALID)])
    yield from _when(calls.PRLIMIT64, [*_argument(0), *_return_unless(_IF_EQUAL, 0, _REFUSE)])
    yield from _when(calls.SOCKET, _tcp_socket())
    yield from _when(calls.SOCKETPAIR, [*_argument(0), *_return_unless(_IF_EQUAL, AF_UNIX, _REFUSE), *_stream()])
    yield from _when(calls.SETSOCKOPT, _socket_option())
    for numbers, flags in calls.SENDING:
        yield from _when(numbers, [*_argument(flags), *_if(_IF_ANY_BIT, _FAST_OPEN, _REFUSE)])
    yield from _when(calls.IOCTL, [*_argument(1), *_among(_DEVICE_CONTROLS.values(), _NO_TERMINAL)])
    # A file lock could carry messages to any process that can read the file, for example a library.
    locks = _if_any(_FILE_LOCKS.values(), _PRETEND)
    yield from _when(calls.FCNTL, [*_argument(1), *locks, *_among(_FILE_CONTROLS.values(), _REFUSE)])
    yield from _when(calls.FLOCK, [(_RETURN, 0, 0, _PRETEND)])
    yield from _when(calls.MMAP, _counted_memory())
    yield from _when(calls.MADVISE, [*_argument(2), *_if_any(_SHARED_MEMORY_ADVICE.values(), _INVALID)])
    yield from _when_any(calls.OF_A_CLOCK, _own_clock())
    yield from _when_any(calls.ADVISING, [(_RETURN, 0, 0, _PRETEND)])
    yield from _when_any(calls.UNSUPPORTED, [(_RETURN, 0, 0, _UNSUPPORTED)])
    for table in (
        calls.ALLOWED,
        calls.STARTING,
        calls.SIGNALLING,
        calls.DESCRIBING,
        calls.OF_A_PROCESS,
        calls.OF_A_THREAD,
        calls.ZYGOTE,
    ):
        yield from _when_any(table, [])
    for numbers in (calls.PRCTL, calls.SCHED_GETAFFINITY, calls.SCHED_SETAFFINITY):
        yield from _when(numbers, [])
    yield (_RETURN, 0, 0, _REFUSE)


def _for_child(own_pid: int | None, *, tcp: bool, own_user: bool) -> Iterator[_Instruction]:
    yield from _when_any(calls.ZYGOTE, _RETURN_REFUSE)
    yield from _when(calls.PRCTL, [*_argument(0), *_among(_OWN_ATTRIBUTES.values(), _REFUSE)])
    own = (0,) if own_pid is None else (0, own_pid)
    yield from _when_any(calls.OF_A_PROCESS, [*_argument(0), *_among(own, _REFUSE)])
    yield from _when_any(calls.OF_A_THREAD, [*_argument(0), *_among(own, _PRETEND)])
    # The launcher chooses the cores. A child could move to those of its opponent.
    yield from _when(calls.SCHED_SETAFFINITY, [(_RETURN, 0, 0, _PRETEND)])
    # C libraries ask for the cores of a thread by its number, and continue if the call does not exist.
    yield from _when(calls.SCHED_GETAFFINITY, [*_argument(0), *_among(own, _UNKNOWN)])
    if not tcp:
        yield from _when(calls.SOCKET, _RETURN_REFUSE)
    if not own_user:
        # Copying a file must not fail because of its mode.
        yield from _when_any(calls.DESCRIBING, [(_RETURN, 0, 0, _PRETEND)])
    if own_pid is not None:
        yield from _when_any(calls.STARTING, _RETURN_REFUSE)
        yield from _when_any(calls.PASSING, _RETURN_REFUSE)
        yield from _when(calls.CLONE, [*_argument(0), *_return_unless(_IF_ANY_BIT, _THREAD, _REFUSE)])
        yield from _when_any(calls.SIGNALLING, [*_argument(0), *_return_unless(_IF_EQUAL, own_pid, _REFUSE)])
    yield (_RETURN, 0, 0, _ALLOW)


def _when_any(table: Mapping[str, calls.Numbers], block: Iterable[_Instruction]) -> Iterator[_Instruction]:
    """Yield the block for each call of a table."""
    inner = list(block)
    for numbers in table.values():
        yield from _when(numbers, inner)


def _when(numbers: calls.Numbers, block: Iterable[_Instruction]) -> list[_Instruction]:
    """Return the block for one call. Code after the block allows the call."""
    number = numbers[list(_AUDIT).index(_MACHINE)]
    if number is None:
        return []
    inner = [*block, (_RETURN, 0, 0, _ALLOW)]
    return [(_IF_EQUAL, 0, len(inner), number), *inner]


def _if(test: int, value: int, verdict: int) -> list[_Instruction]:
    """Return code that ends with the verdict if the test is true."""
    return [(test, 0, 1, value), (_RETURN, 0, 0, verdict)]


def _if_any(values: Iterable[int], verdict: int) -> list[_Instruction]:
    return [instruction for value in values for instruction in _if(_IF_EQUAL, value, verdict)]


def _return_unless(test: int, value: int, verdict: int) -> list[_Instruction]:
    """Return code that ends with the verdict if the test is false."""
    return [(test, 1, 0, value), (_RETURN, 0, 0, verdict)]


def _among(values: Iterable[int], verdict: int) -> list[_Instruction]:
    """Return code that allows the call if the argument is one of the values, and else returns the verdict."""
    return [*_if_any(values, _ALLOW), (_RETURN, 0, 0, verdict)]


def _argument(index: int) -> list[_Instruction]:
    """Return code that loads the lower half of an argument of the call."""
    return [(_LOAD, 0, 0, _ARGUMENTS + 8 * index)]


def _clone() -> list[_Instruction]:
    spaces = [*_argument(0), *_if(_IF_ANY_BIT, _NAME_SPACES_AND_SIBLINGS, _REFUSE)]
    return [*spaces, (_AND, 0, 0, _THREAD | _SAME_FILES), *_if(_IF_EQUAL, _THREAD, _REFUSE)]


def _stream() -> list[_Instruction]:
    return [*_argument(1), (_AND, 0, 0, _KIND_OF_SOCKET), *_return_unless(_IF_EQUAL, _STREAM, _REFUSE)]


def _tcp_socket() -> list[_Instruction]:
    internet = [*_argument(0), (_IF_EQUAL, 2, 0, AF_INET), *_return_unless(_IF_EQUAL, AF_INET6, _REFUSE)]
    protocol = [*_argument(2), (_IF_EQUAL, 2, 0, 0), *_return_unless(_IF_EQUAL, IPPROTO_TCP, _REFUSE)]
    return [*internet, *_stream(), *protocol]


def _socket_option() -> list[_Instruction]:
    of_sockets = [*_argument(1), *_return_unless(_IF_EQUAL, SOL_SOCKET, _ALLOW)]
    filters = _if_any(_FILTERS_AND_MARKS.values(), _REFUSE)
    sizes = _if_any(_SIZES_OF_BUFFERS.values(), _PRETEND)
    return [*of_sockets, *_argument(2), *filters, *sizes]


def _counted_memory() -> list[_Instruction]:
    growing = [*_argument(3), *_if(_IF_ANY_BIT, _GROWING_MEMORY, _REFUSE)]
    return [*growing, (_AND, 0, 0, _HIDDEN_MEMORY), *_if(_IF_EQUAL, _HIDDEN_MEMORY, _REFUSE)]


def _own_clock() -> list[_Instruction]:
    """Refuse the clocks of other processes, which show how much processor time these use."""
    common_clocks = [(_IF_GREATER, 1, 0, _LAST_CLOCK), (_RETURN, 0, 0, _ALLOW)]
    own_threads = _if(_IF_ANY_BIT, _OWN_THREADS, _ALLOW)
    return [*_argument(0), *common_clocks, *_if(_IF_GREATER, _OWN_PROCESS, _ALLOW), *own_threads, *_RETURN_REFUSE]
