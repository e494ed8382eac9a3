"""A cache of submitted programs on disk, so that each is read from the database only once."""

import hashlib
from pathlib import Path

from noughts_server.core.errors import DatabaseDamaged

MOST_BYTES = 1 << 30
"""Limit of the total size. The cache deletes the programs that were used least recently."""


class ProgramCache:
    """The programs by their hashes (SHA-256), in a folder to which only this process writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def get(self, hash_: bytes) -> bytes | None:
        """Return the program with this hash; None if it is missing or damaged."""
        file = self._folder / hash_.hex()
        if not file.exists():
            return None
        content = file.read_bytes()
        file.touch()
        return content if hashlib.sha256(content).digest() == hash_ else None

    def keep(self, hash_: bytes, content: bytes) -> bytes:
        """Write a program and return it; delete old ones beyond the limit. Raises DatabaseDamaged for a wrong hash."""
        if hashlib.sha256(content).digest() != hash_:
            raise DatabaseDamaged(f"a program whose hash is not {hash_.hex()}")
        (self._folder / hash_.hex()).write_bytes(content)
        files = sorted(self._folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        total = sum(file.stat().st_size for file in files)
        while total > MOST_BYTES:
            oldest = files.pop(0)
            total -= oldest.stat().st_size
            oldest.unlink()
        return content
