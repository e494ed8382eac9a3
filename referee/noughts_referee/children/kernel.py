"""Calls of the Linux kernel that Python's `os` does not have, by ctypes."""

import ctypes
import os
import struct
import sys

SET_PARENT_DEATH_SIGNAL = 1
SET_NO_NEW_PRIVILEGES = 38
SET_CHILD_SUBREAPER = 36
_SET_KEEP_CAPABILITIES, _AMBIENT, _AMBIENT_RAISE = 8, 47, 2
_CAPABILITY_VERSION = 0x20080522
_MAY_SEARCH_AND_READ, _MAY_SET_GID, _MAY_SET_UID = 2, 6, 7

_CLOSE_RANGE = 436
_HIGHEST_FD = 0x7FFFFFFF

_libc = ctypes.CDLL(None, use_errno=True)


def machine() -> str:
    """The processor's architecture, as in `os.uname().machine`."""
    return os.uname().machine


def is_linux() -> bool:
    """Whether there is anything to call here. (A function: mypy would drop what follows a look at the platform.)"""
    return sys.platform == "linux"


def call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char]) -> int:
    """A system call by its number; bytes are handed over by address. Raises OSError."""
    words = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def close_files(first: int, last: int = _HIGHEST_FD) -> None:
    """Closes all file descriptors from the first to the last."""
    try:
        call(_CLOSE_RANGE, first, last, 0)  # of Linux 5.9; not every Python knows it, and the limit may be high
    except OSError:
        os.closerange(first, min(last + 1, os.sysconf("SC_OPEN_MAX")))


def control_process(option: int, *arguments: int | bytes) -> None:
    """`prctl(2)`. Raises OSError."""
    words = [ctypes.c_ulong(argument) if isinstance(argument, int) else argument for argument in arguments]
    if _libc.prctl(option, *words, *[ctypes.c_ulong(0)] * (4 - len(words))) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def may_become_another_user() -> bool:
    """Whether this process has the capabilities to change its user and groups."""
    effective, _ = _capabilities()
    return all(effective >> bit & 1 for bit in (_MAY_SET_UID, _MAY_SET_GID))


def _capabilities() -> tuple[int, int]:
    """The first 32 capabilities of this process: those in effect, and those that it may have."""
    header, sets = struct.pack("=Ii", _CAPABILITY_VERSION, 0), ctypes.create_string_buffer(24)
    if _libc.capget(header, sets) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    effective, permitted, *_ = struct.unpack("=6I", sets.raw)
    return effective, permitted


def become(user: int) -> None:
    """Becomes a user without groups; the capabilities are still permitted. Raises OSError."""
    os.setgroups([])
    os.setresgid(user, user, user)
    control_process(_SET_KEEP_CAPABILITIES, 1)
    os.setresuid(user, user, user)


def drop_capabilities(*, but_reading: bool) -> None:
    """Gives up all capabilities. Raises OSError.

    `but_reading` keeps one that this process may have, through an exec too: to pass folders and read files that its
    user may not. It is for processes that Landlock keeps to what they may read: an interpreter may be installed in a
    home that is closed.
    """
    _, permitted = _capabilities()
    kept = permitted & (1 << _MAY_SEARCH_AND_READ) if but_reading else 0
    header, sets = struct.pack("=Ii", _CAPABILITY_VERSION, 0), struct.pack("=6I", kept, kept, kept, 0, 0, 0)
    if _libc.capset(header, sets) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if kept:
        control_process(_AMBIENT, _AMBIENT_RAISE, _MAY_SEARCH_AND_READ)
