"""`noughts records check`: what is wrong with the games of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.server.cli.commands.records.conftest import GAMES
from tests.server.cli.conftest import Transcript


def test_check_says_what_is_wrong_where(noughts: Any, transcript: Transcript, games_file: Path, tmp_path: Path) -> None:
    assert json.loads(noughts(f"records check {games_file} --format json").stdout) == {"games": 4, "errors": []}
    transcript(f"records check {games_file}")
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(games_file.read_text() + json.dumps({**GAMES[0], "seed": 9, "result": "0-1"}) + "\nno game\n")
    document = json.loads(noughts(f"records check {wrong} --format json", code=1).stdout)
    assert document["games"] == 6
    assert [error["line"] for error in document["errors"]] == [5, 6]
    assert document["errors"][0]["error"].startswith("result: got 0-1, expected 1-0")
    transcript(f"records check {wrong}", code=1)


def test_check_of_a_folder_names_the_file(noughts: Any, tmp_path: Path) -> None:
    folder = tmp_path / "games.psq"
    folder.mkdir()
    (folder / "one.psq").write_text("Piskvorky 15x15, 11:11, 0\n1,1,0\na\nb\n-1\n")
    (folder / "two.psq").write_text("Piskvorky 15x15, 11:11, 0\n99,1,0\n")
    document = json.loads(noughts(f"records check {folder} --format json", code=1).stdout)
    assert document == {
        "games": 2,
        "errors": [{"line": 1, "error": "got the move 99,1,0, expected cells of 15x15", "file": "two.psq"}],
    }
