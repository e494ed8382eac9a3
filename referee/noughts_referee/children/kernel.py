"""Calls of the Linux kernel that Python's `os` lacks, through ctypes."""

import ctypes
import os
import struct
import sys
from contextlib import suppress

SET_PARENT_DEATH_SIGNAL = 1
SET_NO_NEW_PRIVILEGES = 38
SET_CHILD_SUBREAPER = 36
_SET_KEEP_CAPABILITIES, _AMBIENT, _AMBIENT_RAISE = 8, 47, 2
_CAPABILITY_VERSION = 0x20080522
_MAY_SEARCH_AND_READ, _MAY_SET_GID, _MAY_SET_UID, _MAY_MOUNT = 2, 6, 7, 21
_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000
_FROM_OUTSIDE_ONLY, _WITHOUT_DEVICES_AND_RIGHTS, _DETACH = 0x84000, 6, 2
"""MS_REC and MS_SLAVE; MS_NOSUID and MS_NODEV; MNT_DETACH."""

_MOST_NICE_OF_SESSION = 10
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


def nice_own_session() -> None:
    """Give the session of this process the nice value of the process, if the kernel shares processors by session.

    Such a kernel compares nice values only within a session, and a new session starts with 0. The value is 10 at most:
    next to a busy session, that leaves a tenth of a core, with which a bot still answers in time.
    """
    nice = min(os.getpriority(os.PRIO_PROCESS, 0), _MOST_NICE_OF_SESSION)
    if nice > 0:
        with suppress(OSError), open("/proc/self/autogroup", "w") as group:
            group.write(str(nice))


def may_become_another_user() -> bool:
    """Return whether this process has the capabilities to change its user and groups."""
    effective, _ = _capabilities()
    return all(effective >> bit & 1 for bit in (_MAY_SET_UID, _MAY_SET_GID))


def may_mount() -> bool:
    """Return whether this process has the capability to mount."""
    effective, _ = _capabilities()
    return bool(effective >> _MAY_MOUNT & 1)


def has_capabilities() -> bool:
    """Return whether this process has, or can take, any of the first 32 capabilities."""
    _, permitted = _capabilities()
    return bool(permitted)


def leave_mounts(*, and_user: bool = False) -> None:
    """Enter a new mount namespace, and with `and_user` a new user namespace. Raises OSError.

    Mounts made here are invisible outside, and vanish with the last process here.
    """
    _checked(_libc.unshare(_NEW_MOUNTS | (_NEW_USER if and_user else 0)))
    _checked(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_FROM_OUTSIDE_ONLY), None))


def mount_in_memory(folder: str, options: str) -> None:
    """Mount an empty file system in memory on a folder. Raises OSError."""
    flags = ctypes.c_ulong(_WITHOUT_DEVICES_AND_RIGHTS)
    _checked(_libc.mount(b"noughts", os.fsencode(folder), b"tmpfs", flags, options.encode()))


def unmount(folder: str) -> None:
    """Unmount what is mounted on a folder, also if it is in use. Raises OSError."""
    _checked(_libc.umount2(os.fsencode(folder), _DETACH))


def _capabilities() -> tuple[int, int]:
    """Return the first 32 effective and permitted capabilities of this process."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    sets = ctypes.create_string_buffer(24)
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
    kept_capabilities = permitted & (1 << _MAY_SEARCH_AND_READ) if but_reading else 0
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    sets = struct.pack("=6I", kept_capabilities, kept_capabilities, kept_capabilities, 0, 0, 0)
    _checked(_libc.capset(header, sets))
    if kept_capabilities:
        control_process(_AMBIENT, _AMBIENT_RAISE, _MAY_SEARCH_AND_READ)
