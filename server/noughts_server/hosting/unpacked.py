"""Limits on the disk space of unpacked programs: for each owner, and for the server."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import Limits

_BLOCK = 4_096
"""Bytes of a block of usual file systems."""
_MIB = 1 << 20
_RETRY_SECONDS = 60.0
"""Seconds after which a client should try again, because other bots have possibly ended."""


class UnpackedPrograms:
    """Counts the disk space of unpacked programs, because a small zip file can have a large content."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._bytes: Counter[int] = Counter()
        """The unpacked bytes, by owner."""

    def check(self, owner: int, size: int = 0) -> None:
        """Raise LimitReached if another program of this size would exceed the limit of its owner or of the server."""
        self._check("unpacked_mib", "MiB of its owner's unpacked bots (unpacked_mib)", self._bytes[owner] + size)
        self._check("all_unpacked_mib", "MiB of unpacked bots (all_unpacked_mib)", self._bytes.total() + size)

    def _check(self, name: str, subject: str, total: int) -> None:
        got = ceil(total / _MIB)
        limit = self._limits.of(name)
        if got > limit:
            raise LimitReached(name, subject, got=got, limit=limit, retry_seconds=_RETRY_SECONDS)

    @contextmanager
    def holding(self, owner: int, size: int) -> Iterator[None]:
        """Count an unpacked program while the block runs. Raises LimitReached."""
        self.check(owner, size)
        self._bytes[owner] += size
        try:
            yield
        finally:
            self._bytes[owner] -= size
            if not self._bytes[owner]:
                del self._bytes[owner]


def space_of(folder: Path) -> int:
    """Return the bytes that the files of a folder take on a disk, in whole blocks."""
    total = 0
    for path, folders, files in os.walk(folder):
        total += _BLOCK * len(folders)
        for name in files:
            # Count one block more than the full ones, because a file can use a part of its last block.
            total += _BLOCK + os.lstat(os.path.join(path, name)).st_size // _BLOCK * _BLOCK
    return total
