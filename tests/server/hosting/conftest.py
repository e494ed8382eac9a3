"""A client of a server that accepts submitted bots, and a compiled bot to submit."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.hosting.submitting import hosting
from tests.support.client import Client
from tests.support.hosting import C_EXAMPLES, compile_wasm
from tests.support.shared import make_once


@pytest.fixture(scope="session")
def random_module(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The example bot `random.c`, which moves at random, as a module of WebAssembly."""
    folder = make_once(
        tmp_path_factory, "random-wasm", lambda to: compile_wasm(C_EXAMPLES / "random.c", _with_parents(to), "random")
    )
    return (folder / "random.wasm").read_bytes()


def _with_parents(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server that accepts submitted bots."""
    async with hosting(tmp_path) as (opened, _):
        yield opened
