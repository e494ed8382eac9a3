"""`noughts records accuracy`: blunders in games."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.server.cli.commands.records.conftest import GAMES
from tests.server.cli.conftest import Refusal


def test_blunders_are_counted_by_bot_and_by_game(noughts: Any, games_file: Path) -> None:
    rows = json.loads(noughts(f"records accuracy {games_file} --format json").stdout)["bots"]
    assert {row["bot"]: (row["games"], row["decisions"], row["blunders"], row["accuracy"]) for row in rows} == {
        "ada": (3, 5, 1, 0.8),  # b3 of the third game gives away a win
        "bob": (2, 0, 0, None),
        "cyd": (1, 3, 1, 2 / 3),  # c3 of the third game loses
    }
    table = noughts(f"records accuracy {games_file}").stdout
    assert re.search(r"ada +3 +5 +1 +0\.33 +-\n", table), "an accuracy of fewer than 30 decisions says nothing"
    games = json.loads(noughts(f"records accuracy {games_file} --each --format json").stdout)["games"]
    assert [(row["number"], row["bot"]) for row in games][:3] == [(1, "ada"), (1, "bob"), (2, "bob")]


def test_an_invalid_game_is_not_judged(refusal: Refusal, tmp_path: Path) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps({**GAMES[0], "moves": [0, 3, 0]}) + "\n")
    refusal(f"records accuracy {file}", code=1)
