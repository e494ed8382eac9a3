"""The processor time of an owner's bots is counted even while the database is busy or being written."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from noughts_server.core.limits import Limits
from noughts_server.hosting.processor_time import ProcessorTime
from noughts_server.store.people.tokens import create_owner
from tests.support.arena import Arena, open_arena

LIMITS = Limits(processor_seconds=10)


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        assert await arena.store.write(partial(create_owner, name="alice")) == 1
        yield arena


async def test_time_used_while_it_is_saved_counts_at_once(arena: Arena) -> None:
    used = ProcessorTime(arena.store, LIMITS)
    used.charge(1, 4.0)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(used.save())
        await asyncio.sleep(0)
        used.charge(1, 7.0)
    assert used.is_spent(1)


async def test_time_that_the_database_refused_is_saved_later(arena: Arena) -> None:
    used = ProcessorTime(arena.store, LIMITS)
    used.charge(1, 11.0)
    with closing(sqlite3.connect(arena.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await used.try_to_save()
        assert not used.is_saved
    await used.save()
    another = ProcessorTime(arena.store, LIMITS)
    await another.save()
    assert another.is_spent(1)
