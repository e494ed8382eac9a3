"""The errors that users meet most: each says what failed, why, and how to fix it, in the words that were typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noughts_server.cli.drawing.match_summary import terminations_line


@pytest.mark.parametrize(
    "line, expected",
    [
        ("match py:./nofile.py:Bot random", "nofile.py, which is not a file, expected a file\nFix: Check the path"),
        ("match exec:./nobin random", "'./nobin', expected one that can be run\nFix: Check that ./nobin exists"),
        ("match random random --opening-rule swap", "Error: --opening-rule swap: got --variant tictactoe, expected"),
        ("serve --listen 127.0.0.1:99999", "Error: --listen '127.0.0.1:99999': expected HOST:PORT with a port up to"),
        ("match random random --games 0", "Error: Invalid value for '--games': "),
        ("match random random --gmaes 2", "Error: No such option: --gmaes"),
        (
            "serve --db /nonexistent/x.db",
            "Error: --db /nonexistent/x.db: folder /nonexistent does not exist\nFix: Create it",
        ),
        ("match random", "Error: Missing argument 'B'.\nFix: See `noughts match --help`."),
    ],
)
def test_wrong_usage_is_one_error_with_exit_code_2(noughts: Any, line: str, expected: str) -> None:
    assert expected in noughts(line, code=2).stderr


def test_ask_without_a_position_is_an_error(noughts: Any) -> None:
    said = noughts("bot ask random", code=2, stdin="\n")
    assert said.stderr.startswith("Error: standard input: got no position, expected one per line\nFix: For example: ")


def test_import_error_shows_only_the_frames_of_the_author(noughts: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nosuchmodule\n")
    said = noughts(f"match py:{tmp_path}/broken.py:Bot random", code=2).stderr
    assert f"Fix: Correct {tmp_path}/broken.py.\n" in said
    assert said.count('  File "') == 1
    assert "ModuleNotFoundError: No module named 'nosuchmodule'" in said


def test_token_command_says_that_it_ignores_the_server_variable(noughts: Any) -> None:
    said = noughts("token revoke 1", code=1, env={"NOUGHTS_SERVER": "127.0.0.1:1"}).stderr
    assert said.startswith("NOUGHTS_SERVER is set, but there is no token: using the database on this machine.\n")


def test_wins_on_the_board_are_called_won() -> None:
    assert terminations_line(20, {"line": 19, "board_full": 1}) == "20 games: 19 won, 1 board full"
