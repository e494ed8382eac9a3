"""Run a program as on a kernel without some system calls: `python refusing.py NUMBER[/FIRST_ARGUMENT],... PROGRAM ...`.

Each of these system calls fails with ENOSYS, for the program and all processes that it starts.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

LANDLOCK = "444,445,446"
MOUNT = {"x86_64": "165", "aarch64": "40"}[platform.machine()]
SECCOMP = {"x86_64": "317", "aarch64": "277"}[platform.machine()]
SECCOMP_FILTERS = f"{SECCOMP}/1"
"""The kernel knows seccomp, but takes no filter."""

_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _FIRST_ARGUMENT = 0, 16
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000 | errno.ENOSYS


def refuse(calls: str) -> None:
    """Make these calls fail in this process and its children until they end. `calls`: as in the module's docstring."""
    program = []
    for call in calls.split(","):
        number, _, argument = call.partition("/")
        if argument:
            program += [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_IF_EQUAL, 0, 3, int(argument))]
        program += [(_LOAD, 0, 0, _NUMBER), (_IF_EQUAL, 0, 1, int(number)), (_RETURN, 0, 0, _FAIL)]
    program.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *instruction) for instruction in program))
    program_header = struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for option, *arguments in ((_SET_NO_NEW_PRIVILEGES, 1, 0), (_SET_SECCOMP, _FILTER, program_header)):
        words = [
            ctypes.c_ulong(instruction) if isinstance(instruction, int) else instruction for instruction in arguments
        ]
        if libc.prctl(option, *words, ctypes.c_ulong(0), ctypes.c_ulong(0)) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    refuse(sys.argv[1])
    os.execv(sys.argv[2], sys.argv[2:])
