"""A seccomp filter: the system calls that a child can make.

Calls not named here are allowed up to the newest one known when this was written; later ones do not exist for a child.
Refused calls fail with EPERM, so that a program can continue without them. A child that uses the calls of another
architecture (32-bit, x32) is killed.
"""

import errno
import os
import struct
from collections.abc import Iterable, Iterator
from ctypes import addressof, create_string_buffer
from socket import AF_INET, AF_INET6, AF_UNIX, IPPROTO_TCP

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

_Numbers = tuple[int | None, int | None]
"""Numbers of a call on x86_64 and aarch64; None if it does not exist there."""
_Instruction = tuple[int, int, int, int]
"""Code, instructions to skip if true and if false, and a value."""

_NEVER: dict[str, _Numbers] = {
    # Other processes.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "migrate_pages": (256, 238), "move_pages": (279, 239),
    # Namespaces and mounts.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "statmount": (457, 457), "listmount": (458, 458), "open_tree_attr": (467, 467),
    # Ways around file rights, and what remains after a process has ended.
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263), "mknod": (133, None), "mknodat": (259, 33), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "inotify_add_watch": (254, 27),
    # Memory, semaphores and queues that outlive a process. Other processes' IDs can be guessed.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # The kernel itself.
    "bpf": (321, 280), "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "sethostname": (170, 161), "setdomainname": (171, 162), "acct": (163, 89),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "syslog": (103, 116), "iopl": (172, None),
    "ioperm": (173, None), "modify_ldt": (154, None), "vhangup": (153, 58),
    # Servers.
    "bind": (49, 200), "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
}  # fmt: skip
_STARTING: dict[str, _Numbers] = {"fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281)}
_SIGNALLING: dict[str, _Numbers] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}  # fmt: skip
_DESCRIBING: dict[str, _Numbers] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip
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
    for numbers in _NEVER.values():
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
