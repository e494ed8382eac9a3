"""Landlock: a process gives up, for itself and its descendants, the files, TCP and signals that it does not need.

Source: the kernel's `Documentation/userspace-api/landlock.rst` and `include/uapi/linux/landlock.h`.
"""

import os
import struct
from collections.abc import Iterable

from noughts_referee.children.kernel import call, is_linux

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH, _NET_PORT = 1, 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_TRUNCATE, _REFER, _IOCTL_DEVICE = 1 << 14, 1 << 13, 1 << 15
_REMOVE = 0x30
_MAKE_REGULAR, _MAKE_FOLDER, _MAKE_FIFO, _MAKE_LINK = 1 << 8, 1 << 7, 1 << 10, 1 << 12
_ALL_OF_FIRST_VERSION = (1 << 13) - 1
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_CONNECT, _BIND = 2, 1
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2

READ = READ_FILE | READ_DIR
RUN = READ | EXECUTE
USE = READ_FILE | WRITE_FILE
KEEP = READ | WRITE_FILE | _TRUNCATE | _REMOVE | _MAKE_REGULAR | _MAKE_FOLDER | _MAKE_FIFO | _MAKE_LINK | _REFER

REFERS, TRUNCATES, LOCKS_TCP, LOCKS_SIGNALS = 2, 3, 4, 6
"""The first versions with these features."""


def version() -> int:
    """Return the version of the kernel's Landlock; 0 if it is missing or disabled."""
    if not is_linux():
        return 0
    try:
        return call(_CREATE_RULESET, 0, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(rules: Iterable[tuple[str, int]], ports: Iterable[int] = ()) -> None:
    """Allow only the rights of the rules (path and rights), and TCP connections to the ports.

    Missing paths are skipped. Needs `no_new_privs`. Raises OSError.
    """
    ruleset = _ruleset(rules, ports)
    try:
        call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def rehearse(rules: Iterable[tuple[str, int]]) -> None:
    """Do the part of `restrict` that has no effect."""
    os.close(_ruleset(rules, ()))


def _ruleset(rules: Iterable[tuple[str, int]], ports: Iterable[int]) -> int:
    """Return a file descriptor for these rules."""
    abi_version = version()
    newer = ((REFERS, _REFER), (TRUNCATES, _TRUNCATE), (5, _IOCTL_DEVICE))
    handled = _ALL_OF_FIRST_VERSION | sum(right for since, right in newer if abi_version >= since)
    net = _CONNECT | _BIND if abi_version >= LOCKS_TCP else 0
    scoped = _ABSTRACT_SOCKETS | _SIGNALS if abi_version >= LOCKS_SIGNALS else 0
    attributes = struct.pack("=QQQ", handled, net, scoped)
    # Older kernels know only the first one or two of the three attributes.
    size = 8
    if abi_version >= LOCKS_SIGNALS:
        size = 24
    elif abi_version >= LOCKS_TCP:
        size = 16
    ruleset = call(_CREATE_RULESET, attributes, size, 0)
    try:
        for path, allowed in rules:
            _allow(ruleset, path, allowed & handled)
        for port in ports if net else ():
            call(_ADD_RULE, ruleset, _NET_PORT, struct.pack("=QQ", _CONNECT, port), 0)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, path: str, allowed: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{place}"):
            allowed &= _OF_FILES
        call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
    finally:
        os.close(place)
