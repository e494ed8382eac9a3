"""`noughts records show`: one game of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.server.cli.conftest import Refusal, Transcript


def test_show_prints_a_game_if_stdout_is_no_terminal(
    noughts: Any, refusal: Refusal, transcript: Transcript, games_file: Path
) -> None:
    transcript(f"records show {games_file} 1")
    assert json.loads(noughts(f"records show {games_file} 2 --format json").stdout)["termination"] == "timeout"
    refusal(f"records show {games_file} 5", code=2)
    refusal(f"records show {games_file} 0", code=2)
    games_file.write_text("")
    refusal(f"records show {games_file}", code=2)


def test_results_without_moves_are_listed_and_neither_shown_nor_sampled(
    refusal: Refusal, transcript: Transcript, tmp_path: Path
) -> None:
    file = tmp_path / "results.csv"
    file.write_text("white,black,result\na,b,1-0\n")
    transcript(f"records list {file}")
    for line in (f"records show {file}", f"records sample {file} {tmp_path}/x.csv"):
        refusal(line, code=2)
