"""Alice's settings for a server, and what she asks there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]


@pytest.fixture
def env(server: str, token: str) -> dict[str, str]:
    """Alice's settings."""
    return {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}


@pytest.fixture
def ask(noughts: Any, env: dict[str, str]) -> Ask:
    """A command on the server with alice's token; its JSON."""

    def run(line: str) -> Any:
        return json.loads(noughts(f"{line} --format json", env=env).stdout)

    return run
