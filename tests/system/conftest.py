"""A server in this process, to which other programs connect."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.league_server import LeagueServer, league_server_at


@pytest.fixture
async def league_server(tmp_path: Path) -> AsyncIterator[LeagueServer]:
    """A server on a new database."""
    async with league_server_at(tmp_path) as league_server:
        yield league_server
