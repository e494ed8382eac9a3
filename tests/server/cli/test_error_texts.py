"""The errors that users meet most: each says what failed, why, and how to fix it, in the words that were typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noughts_server.cli.drawing.match_summary import terminations_line

ONLY_CONNECT4 = """
from noughts_bots import Bot

class Mine(Bot):
    variants = ("connect4",)

    def choose(self, position):
        return position.free[0]
"""


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
        ("match random random --variant gomokuu", "`mnk:M,N,K`\nDid you mean gomoku?"),
        (
            "match random random --seed -1",
            "Error: --seed -1: expected 0 to 18446744073709551615\nFix: See `noughts match",
        ),
        ("match random", "Error: Missing argument 'B'.\nFix: See `noughts match --help`."),
    ],
)
def test_wrong_usage_is_one_error_with_exit_code_2(noughts: Any, line: str, expected: str) -> None:
    assert expected in noughts(line, code=2).stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a bot of one variant in a folder whose name has a space, and files of results and games."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my bots").mkdir()
    (tmp_path / "my bots" / "bot.py").write_text(ONLY_CONNECT4)
    (tmp_path / "results.csv").write_text("white,black,result\na,b,1-0\n")
    (tmp_path / "forfeits.csv").write_text("white,black,result,termination\na,b,1-0,time forfeit\nb,a,1-0,abandoned\n")
    (tmp_path / "empty.csv").write_text("white,black,result\n")
    (tmp_path / "void.csv").write_text("white,black,result\na,b,*\n")
    return tmp_path


@pytest.mark.parametrize(
    "line, code, expected",
    [
        (
            "match 'my bots/bot.py' random --variant tictactoe",
            1,
            "expected one that plays tictactoe\nFix: Choose a variant that it plays: --variant connect4.",
        ),
        (
            "estimate 'Mine=py:my bots/bot.py' --variants tictactoe --games 2",
            1,
            "expected one that plays tictactoe\nFix: Choose others with --variants: tictactoe, connect4, mnk:7,7,4, or",
        ),
        ("match 'my bots' random", 2, "Fix: Name a file in this folder, such as 'my bots/bot.py'."),
        ("match 'A=my bots' random", 2, "Name a file in this folder, such as 'A=my bots/bot.py'."),
        (
            "rate forfeits.csv --without-forfeits",
            2,
            "got 2 forfeits and no other game with a result, expected at least one\nFix: Leave out --without-forfeits.",
        ),
        ("rate void.csv", 2, "got 1 game without a result, expected at least one\nFix: Name a file with games that"),
        ("records convert results.csv games.sgf", 2, "Fix: Convert to .csv or .pgn, or name the file that has the"),
        ("match random random -o 'my bots'", 1, "my bots: Is a directory\nFix: That is a folder. Name a file."),
        (
            "bot submit nofile.py",
            1,
            "nofile.py: No such file or directory, expected a file or a folder\nFix: Check the",
        ),
        ("records show results.csv", 2, "Fix: Name the file that has the moves."),
        ("tournament tables empty.csv", 1, "empty.csv: got no games, expected at least one\nFix: Name a file with"),
    ],
)
def test_errors_say_what_to_do(noughts: Any, folder: Path, line: str, code: int, expected: str) -> None:
    assert expected in noughts(line, code=code).stderr


@pytest.mark.parametrize("kind", [".jsonl", ".sgf", ".pgn", ".csv", ".psq"])
def test_check_of_a_file_without_games_is_an_error(noughts: Any, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"empty{kind}"
    file.write_text("")
    found = json.loads(noughts(f"records check {file} --format json", code=1).stdout)["errors"]
    assert [each["line"] for each in found] == [1]
    assert "empty" in noughts(f"records check {file}", code=1).stdout


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
