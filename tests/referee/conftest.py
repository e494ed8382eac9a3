"""A server and a bot for tests of the referee, which let time leap instead of sleeping."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest

from tests.support.leaping_loop import LeapingLoop
from tests.support.loopback import Loopback, RawBot, loopback, raw_bot


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"leaping": LeapingLoop}


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    """A server of games without a store."""
    async with loopback() as server:
        yield server


@pytest.fixture
async def second(server: Loopback) -> AsyncIterator[RawBot]:
    """The bot `bot-2`, which is logged in."""
    async with raw_bot(server, 2) as bot:
        yield bot
