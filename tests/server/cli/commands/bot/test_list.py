"""`noughts bot list`: reference bots, and bots of a server."""

from __future__ import annotations

import json
from typing import Any

from tests.server.cli.conftest import Ask


def test_bots_are_listed_in_the_natural_order_of_their_names(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    names = [f"b{number}" for number in range(1, 54)]
    for name in names:
        noughts(f"bot register {name}", env=env)
    assert [row["name"] for row in ask(f"bot list --server {env['NOUGHTS_SERVER']}")["bots"]] == names
    lines = noughts(f"bot list --server {env['NOUGHTS_SERVER']}", env=env).stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == names[:50]


def test_reference_bots_are_listed_with_their_options(noughts: Any) -> None:
    bots = {row["name"]: row for row in json.loads(noughts("bot list --format json").stdout)["bots"]}
    assert {"random", "first-free", "three-stage", "coursework", "pascal", "nextstep", "minimax"} <= set(bots)
    for row in bots.values():
        # The bots of a server have more fields; here those are null.
        assert {field for field, value in row.items() if value is not None} == {
            "name",
            "kind",
            "syntax",
            "description",
            "variants",
        } | ({"package"} if row["kind"] == "package" else set())
    output = noughts("bot list").stdout
    assert "nextstep" in output
    assert "depth" in output
    assert "Bots at a server: noughts bot list --server HOST:PORT" in output
