"""`noughts health`."""

from __future__ import annotations

from typing import Any

from tests.server.cli.conftest import Refusal


def test_health_reports_a_running_and_a_missing_server(noughts: Any, refusal: Refusal, server: str) -> None:
    assert noughts("health", env={"NOUGHTS_SERVER": server}).stdout == f"{server} is serving\n"
    refusal("health --server 127.0.0.1:1", code=1)
