"""Recognise programs that cannot run in the sandbox, because they would fail without a clear message."""

import os
import re
from collections.abc import Sequence

from noughts_referee.children import seccomp

ALLOWED = "a program that the sandbox allows"
_WINE = re.compile(r"(?:wine|wineloader|proton)(?:32|64)?(?:-[a-z]+)?", re.ASCII)
_WINDOWS, _ELF_32 = b"MZ", b"\x7fELF\x01"
# Landlock limits connections to named sockets only from version 9 (Linux 7.1) on. In older versions a child with Unix
# sockets could reach every service of its user, which could start programs outside of the sandbox.
_NEEDS_SOCKETS = "a Windows program, for which Wine needs Unix sockets"
_NEEDS_32_BITS = "a 32-bit program, which makes 32-bit system calls"


def sandbox_refusal(words: Sequence[str]) -> str:
    """Return the kind of a program that cannot run in the sandbox here; empty for any other program."""
    if not seccomp.available():
        return ""
    if _WINE.fullmatch(os.path.basename(words[0])):
        return _NEEDS_SOCKETS
    try:
        with open(words[0], "rb") as file:
            begin = file.read(len(_ELF_32))
    except OSError:
        return ""  # starting it reports the error
    if begin.startswith(_WINDOWS):
        return _NEEDS_SOCKETS
    return _NEEDS_32_BITS if begin == _ELF_32 else ""
