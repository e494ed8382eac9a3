"""Tests of the referee let time leap instead of sleeping."""

import asyncio
from collections.abc import Callable, Mapping

from tests.support.leaping_loop import LeapingLoop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"leaping": LeapingLoop}
