"""`noughts ratings suspicious`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.arena import open_arena
from tests.support.arranged import ROUNDS, arrange


@pytest.fixture
def arranged_games(database: str) -> None:
    """Store games in the database that owners arranged between each other."""

    async def play() -> None:
        async with open_arena(Path(database.removeprefix("sqlite:///"))) as arena:
            await arrange(arena)

    asyncio.run(play())


@pytest.fixture
def admin(arranged_games: None, noughts: Any, server: str, database: str) -> dict[str, str]:
    """The environment variables of an admin of a server on that database."""
    created = json.loads(noughts(f"token create --owner root --scope admin --db {database} --format json").stdout)
    return {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": created["token"]}


def test_admin_gets_suspicious_results_as_a_table_and_as_json(noughts: Any, admin: dict[str, str]) -> None:
    output = noughts("ratings suspicious", env=admin).stdout
    assert all(pattern in output for pattern in ("rating-moved", "given-up", "short-losses", "conceded"))
    rows = json.loads(noughts("ratings suspicious --format json", env=admin).stdout)["results"]
    (row,) = (row for row in rows if row["pattern"] == "given-up")
    newest = row.pop("newest_game")
    assert newest.startswith("tournaments/cup/games/")
    assert row == {
        "pattern": "given-up",
        "bot": "bots/eve",
        "owner": "mallory",
        "opponent": "bots/ada",
        "other_owner": "alice",
        "games": ROUNDS,
        "losses": ROUNDS,
        "counted": ROUNDS,
        "share_elsewhere": 0.0,
        "rating_list": None,
        "points": None,
    }


def test_only_an_admin_gets_suspicious_results(refusal: Refusal, admin: dict[str, str], token: str) -> None:
    refusal("ratings suspicious", env={**admin, "NOUGHTS_TOKEN": token}, code=1)
