"""Calls of the Linux kernel that Python's `os` lacks, through ctypes."""

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


def is_linux() -> bool:
    """Return whether this is Linux. (A function, because mypy would skip code after a direct platform test.)"""
    return sys.platform == "linux"


def call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char]) -> int:
    """Make a system call by number. Bytes are passed by address. Raises OSError."""
    words = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *words))


def _checked(result: int) -> int:
    """Return the result of a call. Raises OSError for a negative one."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def close_files(first: int, last: int = _HIGHEST_FD) -> None:
    try:
        call(_CLOSE_RANGE, first, last, 0)  # Linux 5.9; some Pythons lack it, and the limit can be high
    except OSError:
        os.closerange(first, min(last + 1, os.sysconf("SC_OPEN_MAX")))


def control_process(option: int, *arguments: int | bytes) -> None:
    """Call `prctl(2)`. Raises OSError."""
    words = [ctypes.c_ulong(argument) if isinstance(argument, int) else argument for argument in arguments]
    _checked(_libc.prctl(option, *words, *[ctypes.c_ulong(0)] * (4 - len(words))))


def may_become_another_user() -> bool:
    """Return whether this process has the capabilities to change its user and groups."""
    effective, _ = _capabilities()
    return all(effective >> bit & 1 for bit in (_MAY_SET_UID, _MAY_SET_GID))


def _capabilities() -> tuple[int, int]:
    """Return the first 32 effective and permitted capabilities of this process."""
    header, sets = struct.pack("=Ii", _CAPABILITY_VERSION, 0), ctypes.create_string_buffer(24)
    _checked(_libc.capget(header, sets))
    effective, permitted, *_ = struct.unpack("=6I", sets.raw)
    return effective, permitted


def become(user: int) -> None:
    """Become a user without groups. Capabilities stay permitted. Raises OSError."""
    os.setgroups([])
    os.setresgid(user, user, user)
    control_process(_SET_KEEP_CAPABILITIES, 1)
    os.setresuid(user, user, user)


def drop_capabilities(*, but_reading: bool) -> None:
    """Give up all capabilities. Raises OSError.

    With `but_reading`, the process keeps, also across exec, the permitted capability to enter folders and read files
    that its user cannot. Use it under Landlock only: an interpreter can be installed in a closed home.
    """
    _, permitted = _capabilities()
    kept = permitted & (1 << _MAY_SEARCH_AND_READ) if but_reading else 0
    header, sets = struct.pack("=Ii", _CAPABILITY_VERSION, 0), struct.pack("=6I", kept, kept, kept, 0, 0, 0)
    _checked(_libc.capset(header, sets))
    if kept:
        control_process(_AMBIENT, _AMBIENT_RAISE, _MAY_SEARCH_AND_READ)
