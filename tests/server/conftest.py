"""Fixtures of the server's tests."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.arena import Arena, open_arena
from tests.support.databases import SQLITE, databases_of
from tests.support.guard import processes_allowed
from tests.support.receiver import Receiver, webhook_receiver


@pytest.fixture(autouse=True)
def database_kind() -> Iterator[str]:
    """The kind of all databases of a test: SQLite, or the kind that NOUGHTS_TEST_DATABASE names."""
    kind = os.environ.get("NOUGHTS_TEST_DATABASE", SQLITE)
    if kind == SQLITE:
        yield kind
        return
    with processes_allowed(True), databases_of(kind):
        yield kind


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    """A store in a new database."""
    async with open_arena(tmp_path / "noughts.db") as arena:
        yield arena


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server that receives webhooks."""
    with webhook_receiver() as receiver:
        yield receiver
