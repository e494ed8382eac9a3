"""Files of four games, and a tournament at a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.background import bots_online

GAMES = [
    {"variant": "tictactoe", "first": "ada", "second": "bob", "seed": 1, "moves": [0, 3, 1, 4, 2], "result": "1-0",
     "termination": "line", "opening": [0, 3], "times_ms": [0, 0, 1.5, 2, 0.25]},
    {"variant": "tictactoe", "first": "bob", "second": "ada", "seed": 2, "moves": [4, 0], "result": "0-1",
     "termination": "timeout"},
    {"variant": "tictactoe", "first": "ada", "second": "cyd", "seed": 3, "moves": [0, 4, 8, 2, 6, 3, 5, 7, 1],
     "result": "1/2-1/2", "termination": "board_full"},
    {"variant": "mnk:5,4,4", "first": "ada", "second": "bob", "seed": 4, "moves": [7], "result": "*",
     "termination": "void"},
]  # fmt: skip


@pytest.fixture
def games_file(tmp_path: Path) -> Path:
    """The file of the four games."""
    path = tmp_path / "games.jsonl"
    path.write_text("".join(json.dumps(game) + "\n" for game in GAMES))
    return path


def json_lines(text: str) -> list[Any]:
    """Return the lines of JSON in a text."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def cup_env(noughts: Any, server: str, token: str) -> dict[str, str]:
    """The environment of commands at a server that played `cup`, which has more games than a page of its answers."""
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    with bots_online(server, token, one="random", other="first-free"):
        noughts("tournament create cup --games 1100 --seed 4 --title 'Spring cup'", env=env)
        for bot in ("one", "other"):
            noughts(f"tournament join cup --bot {bot}", env=env)
        noughts("tournament start cup", env=env)
        noughts("tournament watch cup --format json", env=env)
    return env
