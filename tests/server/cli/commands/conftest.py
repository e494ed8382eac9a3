"""Fixtures of the commands that need a server: two bots that are online, and a wait for the end of a tournament."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.cli.conftest import Ask
from tests.support.background import bots_online
from tests.support.processes import eventually


@pytest.fixture
def bots(server: str, token: str) -> Iterator[list[str]]:
    """Two bots that are online."""
    with bots_online(server, token, **{"alice-random": "random", "alice-minimax": "minimax"}):
        yield ["alice-random", "alice-minimax"]


def wait_until_finished(ask: Ask, name: str) -> None:
    """Wait until this tournament is finished."""
    eventually(lambda: ask(f"tournament show {name}")["state"], lambda state: state == "finished")
