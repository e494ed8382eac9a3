"""The processor time of an owner's bots is counted even while the database is busy or being written."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noughts_server.core.errors import DatabaseUnavailable
from noughts_server.core.limits import Limits
from noughts_server.hosting import processor_time
from noughts_server.hosting.processor_time import ProcessorTime
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.submissions import add_processor_time
from noughts_server.store.people.tokens import create_owner
from tests.support.arena import Arena, open_arena
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE

LIMITS = Limits(processor_seconds=10)


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        assert await arena.store.write(partial(create_owner, name="alice")) == 1
        yield arena


@dataclass
class SlowWrite:
    """A transaction that writes charges, and commits only when a test permits it."""

    is_writing: threading.Event = field(default_factory=threading.Event)
    may_commit: threading.Event = field(default_factory=threading.Event)

    def add(self, connection: Connection, **fields: Any) -> None:
        add_processor_time(connection, **fields)
        self.is_writing.set()
        assert self.may_commit.wait(PATIENCE)


@pytest.fixture
def slow_write(monkeypatch: pytest.MonkeyPatch) -> SlowWrite:
    """Let charges be written slowly."""
    write = SlowWrite()
    monkeypatch.setattr(processor_time, "add_processor_time", write.add)
    return write


async def test_time_used_while_it_is_saved_counts_at_once(arena: Arena, slow_write: SlowWrite) -> None:
    used = ProcessorTime(arena.store, LIMITS)
    used.charge(1, 4.0)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(used.save())
        await wait_until(slow_write.is_writing.is_set)
        used.charge(1, 7.0)
        slow_write.may_commit.set()
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


async def test_cancelled_save_charges_the_time_once(arena: Arena, slow_write: SlowWrite) -> None:
    used = ProcessorTime(arena.store, LIMITS)
    used.charge(1, 6.0)
    async with asyncio.TaskGroup() as tasks:
        saving = tasks.create_task(used.save())
        await wait_until(slow_write.is_writing.is_set)
        saving.cancel()
        slow_write.may_commit.set()
    assert used.is_saved
    await used.save()
    assert not used.is_spent(1)
    used.charge(1, 4.0)
    assert used.is_spent(1)


async def test_time_is_charged_once_if_the_sums_cannot_be_read(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    used = ProcessorTime(arena.store, LIMITS)
    used.charge(1, 6.0)

    async def fail(function: object) -> None:
        raise DatabaseUnavailable("it is locked")

    with monkeypatch.context() as failing:
        failing.setattr(arena.store, "read", fail)
        await used.try_to_save()
    await used.save()
    assert not used.is_spent(1)
    used.charge(1, 4.0)
    assert used.is_spent(1)
