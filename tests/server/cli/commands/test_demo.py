"""`noughts demo`: all reference bots play each other."""

from __future__ import annotations

import json
from typing import Any


def test_demo_plays_fourteen_bots_and_ends(noughts: Any) -> None:
    document = json.loads(noughts("demo --games 2 --seed 1 --format json").stdout)
    assert document["games"] == 14 * 13
    assert len(document["standings"]) == 14
    assert document["seed"] == 1
    names = {row["name"] for row in document["standings"]}
    assert {"random", "pascal:level=0", "nextstep:depth=9", "minimax", "three-stage"} <= names


def test_demo_in_text_fits_eighty_columns_and_says_what_to_try_next(noughts: Any) -> None:
    output = noughts("demo --games 1", env={"COLUMNS": "80"}).stdout
    assert max(map(len, output.splitlines())) <= 80
    assert "Try next: noughts" in output.splitlines()[-1]
