"""A server whose games tests watch."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.feed.cinema import WatchedServer, watched_server


@pytest.fixture
async def cinema(tmp_path: Path) -> AsyncIterator[WatchedServer]:
    """A server on a new database."""
    async with watched_server(tmp_path / "x.sqlite") as cinema:
        yield cinema


@pytest.fixture
async def token(cinema: WatchedServer) -> str:
    """A token of alice."""
    return await cinema.client.token()
