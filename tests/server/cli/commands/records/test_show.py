"""`noughts records show`: one game of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.server.cli.conftest import Refusal


def test_show_prints_a_game_where_there_is_no_terminal(noughts: Any, refusal: Refusal, file: Path) -> None:
    text = noughts(f"records show {file} 1").stdout
    assert "Game 1: ada (X) - bob (O)" in text
    assert "1-0, line; tictactoe, 5 plies" in text
    assert " 3 X X X\n 2 O O .\n" in text
    assert "opening: a3 a2\nmoves: a3 a2 b3 b2 c3" in text
    assert json.loads(noughts(f"records show {file} 2 --format json").stdout)["termination"] == "timeout"
    refusal(f"records show {file} 5", code=2)
    refusal(f"records show {file} 0", code=2)
    file.write_text("")
    refusal(f"records show {file}", code=2)


def test_results_without_moves_are_listed_and_neither_shown_nor_sampled(
    noughts: Any, refusal: Refusal, tmp_path: Path
) -> None:
    file = tmp_path / "results.csv"
    file.write_text("white,black,result\na,b,1-0\n")
    assert "a      b       1-0     -" in noughts(f"records list {file}").stdout
    for line in (f"records show {file}", f"records sample {file} {tmp_path}/x.csv"):
        refusal(line, code=2)
