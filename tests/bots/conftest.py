"""A server for tests of bots that connect."""

from collections.abc import AsyncIterator

import pytest

from tests.support.loopback import Loopback, loopback


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    """A server of games without a store."""
    async with loopback() as server:
        yield server
