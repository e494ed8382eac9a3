"""Clients of servers that run in the process of the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.arena import open_arena
from tests.support.client import Client, client_of


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server with a new database."""
    async with client_of(tmp_path / "x.sqlite") as client:
        yield client


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server with a history: seven bots, seven tournaments, two of them with games."""
    async with open_arena(tmp_path / "x.sqlite") as arena:
        bots = [f"bot-{number}" for number in range(7)]
        for slug in ("cup", "plate"):
            tournament = await arena.tournament(slug, bots=bots)
            await arena.commit(await arena.play(tournament))
        for number in range(5):
            await arena.tournament(f"open-{number}", start=False, bots=())
    # The explorer would change rows of the leaderboard while a test reads it.
    async with client_of(tmp_path / "x.sqlite", explorer=False) as client:
        yield client
