"""Delete rows that no caller needs any more, so that calls do not make the database grow without limit."""

import asyncio
from contextlib import suppress

import structlog

from noughts_server.core.errors import DatabaseUnavailable
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.store.engine.database import Store
from noughts_server.store.games.machines import forget_machines
from noughts_server.store.games.pruning import Leftover, ended_tokens, leftovers

logger = structlog.get_logger("noughts.leftovers")

_PERIOD_SECONDS = 3_600.0
_REST_SECONDS = 0.1
"""Pause between two transactions, because the same thread stores games."""


async def deleting_leftovers(store: Store) -> None:
    """Delete what `delete_leftovers` does, at the start and then once an hour, until cancelled."""
    while True:
        with logging_errors(logger, "leftovers_not_deleted"), suppress(DatabaseUnavailable):  # reported where it occurs
            await delete_leftovers(store)
        await asyncio.sleep(_PERIOD_SECONDS)


async def delete_leftovers(store: Store) -> None:
    """Delete old answers to requests, ended tokens and machines without games now. Notes on games stay."""
    await store.write(lambda connection: forget_machines(connection, store.now_ms()))
    answers, _notes = leftovers()
    for leftover in (answers, ended_tokens()):
        await _delete(store, leftover)


async def _delete(store: Store, leftover: Leftover) -> None:
    now = store.now_ms()
    remaining = await store.read(lambda connection: leftover.count(connection, now))
    if remaining:
        logger.info("leftovers_deleted", what=leftover.name, rows=remaining)
    while remaining > 0:
        deleted = await store.write(lambda connection: leftover.drop_some(connection, now))
        if not deleted:
            return  # another server has deleted them
        remaining -= deleted
        await asyncio.sleep(_REST_SECONDS)
