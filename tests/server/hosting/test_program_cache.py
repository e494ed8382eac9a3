"""The cache of submitted programs on disk."""

import hashlib
import os
from pathlib import Path

import pytest

from noughts_server.core.errors import DatabaseDamaged
from noughts_server.hosting import program_cache
from noughts_server.hosting.program_cache import ProgramCache


def hash_of(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def test_programs_are_kept_by_hash_and_the_least_used_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_cache, "MOST_BYTES", 25)
    cache, programs = ProgramCache(tmp_path / "cache"), [bytes([number]) * 10 for number in range(3)]
    for number, content in enumerate(programs[:2]):
        assert cache.get(hash_of(content)) is None
        assert cache.keep(hash_of(content), content) == content
        os.utime(tmp_path / "cache" / hash_of(content).hex(), (number, number))
    assert cache.get(hash_of(programs[0])) == programs[0]
    cache.keep(hash_of(programs[2]), programs[2])
    assert [cache.get(hash_of(content)) for content in programs] == [programs[0], None, programs[2]]


def test_damaged_programs_are_not_used(tmp_path: Path) -> None:
    cache, content = ProgramCache(tmp_path / "cache"), b"program"
    with pytest.raises(DatabaseDamaged):
        cache.keep(hash_of(content), b"another")
    cache.keep(hash_of(content), content)
    (tmp_path / "cache" / hash_of(content).hex()).write_bytes(b"prog")
    assert cache.get(hash_of(content)) is None
