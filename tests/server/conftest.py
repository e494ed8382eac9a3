"""Fixtures of the server's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.arena import Arena, open_arena


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    """A store in a fresh file."""
    async with open_arena(tmp_path / "noughts.db") as opened:
        yield opened
