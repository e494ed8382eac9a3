"""A seccomp filter: the system calls that a child can make.

Calls not named here or in `seccomp.json` are allowed up to the newest one known when this was written; later ones do
not exist for a child. Refused calls fail with EPERM, so that a program can continue without them. A child that uses the
calls of another architecture (32-bit, x32) is killed.
"""

import errno
import json
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from ctypes import addressof, create_string_buffer
from itertools import chain
from pathlib import Path
from socket import AF_INET, AF_INET6, AF_UNIX, IPPROTO_TCP
from typing import Any

from noughts_referee.children.kernel import SET_CHILD_SUBREAPER, SET_PARENT_DEATH_SIGNAL, call, is_linux

_MACHINE = os.uname().machine
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEWEST = 469
_FIRST_OF_X32 = 0x40000000
_SET_FILTER, _IS_ACTION_KNOWN = 1, 2

_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_REFUSE, _UNKNOWN, _PRETEND = _FAIL | errno.EPERM, _FAIL | errno.ENOSYS, _FAIL | 0
# Instructions of classic BPF, and the offsets of the call's arguments (lower halves, little endian).
_LOAD, _IF_EQUAL, _IF_GREATER, _IF_ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_THREAD, _NAME_SPACES = 0x10000, 0x7E020000
_KIND_OF_SOCKET, _STREAM, _FAST_OPEN = 0xF, 1, 0x20000000

_Numbers = Sequence[int | None]
"""Numbers of a call on x86_64 and aarch64; None if it does not exist there."""
_Instruction = tuple[int, int, int, int]
"""Code, instructions to skip if true and if false, and a value."""

_CALLS: dict[str, Any] = json.loads(Path(__file__).with_name("seccomp.json").read_text())
_NEVER: dict[str, dict[str, _Numbers]] = _CALLS["never"]
"""Calls that no child can make, by what they are for."""
_STARTING: dict[str, _Numbers] = _CALLS["starting"]
_SIGNALLING: dict[str, _Numbers] = _CALLS["signalling"]
_DESCRIBING: dict[str, _Numbers] = _CALLS["describing"]
"""Calls that change the mode, owner, times and attributes of files, which Landlock does not cover."""
_SOCKET, _SOCKET_PAIR, _CLONE, _CLONE3 = (41, 198), (53, 199), (56, 220), (435, 435)
_PRCTL, _PRLIMIT, _AFFINITY, _PRIORITY = (157, 167), (302, 261), (203, 122), (141, 140)
# The argument with the flags: one flag opens a connection that Landlock does not check.
_SENDING = (((44, 206), 3), ((46, 211), 2), ((307, 269), 3))

_RETURN_REFUSE: list[_Instruction] = [(_RETURN, 0, 0, _REFUSE)]


def available() -> bool:
    """Return whether this kernel has such filters and this module has its call numbers."""
    if not is_linux() or _MACHINE not in _SECCOMP:
        return False
    try:
        call(_SECCOMP[_MACHINE], _IS_ACTION_KNOWN, 0, struct.pack("=I", _KILL))
        call(_SECCOMP[_MACHINE], _SET_FILTER, 0, 0)
    except OSError as error:
        return error.errno == errno.EFAULT  # it would read the filter
    return False


def restrict_family() -> None:
    """Refuse what every child is refused, to this process and its descendants, permanently. Raises OSError.

    This takes milliseconds; `restrict` is faster. Both need `no_new_privs`.
    """
    _install(_for_family())


def restrict(*, own_pid: int | None, tcp: bool, own_user: bool) -> None:
    """Refuse what this child must not do, permanently. Raises OSError.

    With `own_pid`, it can start threads but no processes or programs, and signal only itself. `tcp` allows TCP sockets;
    Landlock limits where they connect. Without `own_user`, its user has other files and processes. Changes of mode,
    owner, times and attributes of files then succeed without effect, and it cannot set the cores of other processes.
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
    start: list[_Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE), *_unless(_IF_EQUAL, _AUDIT[_MACHINE], _KILL)]
    program = [*start, (_LOAD, 0, 0, _NUMBER), *blocks, (_RETURN, 0, 0, _ALLOW)]
    return [struct.pack("=HBBI", *instruction) for instruction in program]


def _for_family() -> Iterator[_Instruction]:
    yield from _if(_IF_GREATER, _FIRST_OF_X32 - 1, _KILL)
    yield from _if(_IF_GREATER, _NEWEST, _UNKNOWN)
    for numbers in chain.from_iterable(calls.values() for calls in _NEVER.values()):
        yield from _when(numbers, _RETURN_REFUSE)
    yield from _when(_CLONE3, [(_RETURN, 0, 0, _UNKNOWN)])  # its flags are not visible; libraries fall back to clone
    yield from _when(_CLONE, [*_argument(0), *_if(_IF_ANY_BIT, _NAME_SPACES, _REFUSE)])
    yield from _when(_PRLIMIT, [*_argument(0), *_unless(_IF_EQUAL, 0, _REFUSE)])
    yield from _when(_SOCKET, _tcp_socket())
    yield from _when(_SOCKET_PAIR, [*_argument(0), *_unless(_IF_EQUAL, AF_UNIX, _REFUSE), *_stream()])
    for numbers, flags in _SENDING:
        yield from _when(numbers, [*_argument(flags), *_if(_IF_ANY_BIT, _FAST_OPEN, _REFUSE)])


def _for_child(own_pid: int | None, *, tcp: bool, own_user: bool) -> Iterator[_Instruction]:
    kept = [_if(_IF_EQUAL, option, _REFUSE) for option in (SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER)]
    yield from _when(_PRCTL, [*_argument(0), *kept[0], *kept[1]])
    yield from _when(_PRIORITY, _RETURN_REFUSE)  # the zygote sets it
    if not tcp:
        yield from _when(_SOCKET, _RETURN_REFUSE)
    if not own_user:
        for numbers in _DESCRIBING.values():
            yield from _when(numbers, [(_RETURN, 0, 0, _PRETEND)])  # copying a file must not fail because of its mode
        yield from _when(_AFFINITY, [*_argument(0), *_unless(_IF_EQUAL, 0, _REFUSE)])
    if own_pid is not None:
        for numbers in _STARTING.values():
            yield from _when(numbers, _RETURN_REFUSE)
        yield from _when(_CLONE, [*_argument(0), *_unless(_IF_ANY_BIT, _THREAD, _REFUSE)])
        for numbers in _SIGNALLING.values():
            yield from _when(numbers, [*_argument(0), *_unless(_IF_EQUAL, own_pid, _REFUSE)])


def _when(numbers: _Numbers, block: Iterable[_Instruction]) -> list[_Instruction]:
    """Return the block for one call. Code after the block allows the call."""
    number = numbers[list(_AUDIT).index(_MACHINE)]
    if number is None:
        return []
    inner = [*block, (_RETURN, 0, 0, _ALLOW)]
    return [(_IF_EQUAL, 0, len(inner), number), *inner]


def _if(test: int, value: int, verdict: int) -> list[_Instruction]:
    return [(test, 0, 1, value), (_RETURN, 0, 0, verdict)]


def _unless(test: int, value: int, verdict: int) -> list[_Instruction]:
    return [(test, 1, 0, value), (_RETURN, 0, 0, verdict)]


def _argument(index: int) -> list[_Instruction]:
    return [(_LOAD, 0, 0, _ARGUMENTS + 8 * index)]


def _stream() -> list[_Instruction]:
    return [*_argument(1), (_AND, 0, 0, _KIND_OF_SOCKET), *_unless(_IF_EQUAL, _STREAM, _REFUSE)]


def _tcp_socket() -> list[_Instruction]:
    internet = [*_argument(0), (_IF_EQUAL, 2, 0, AF_INET), *_unless(_IF_EQUAL, AF_INET6, _REFUSE)]
    protocol = [*_argument(2), (_IF_EQUAL, 2, 0, 0), *_unless(_IF_EQUAL, IPPROTO_TCP, _REFUSE)]
    return [*internet, *_stream(), *protocol]
