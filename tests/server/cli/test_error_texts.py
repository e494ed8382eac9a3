"""The errors that users meet most: each says what failed, why, and how to fix it, in the words that were typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noughts_server.cli.drawing.match_summary import terminations_line
from tests.server.cli.conftest import Refusal

ONLY_CONNECT4 = """
from noughts_bots import Bot

class Mine(Bot):
    variants = ("connect4",)

    def choose(self, position):
        return position.free[0]
"""


@pytest.mark.parametrize(
    "line",
    [
        "match py:./nofile.py:Bot random",
        "match exec:./nobin random",
        "match random random --opening-rule swap",
        "serve --listen 127.0.0.1:99999",
        "match random random --games 0",
        "match random random --gmaes 2",
        "serve --db /nonexistent/x.db",
        "match random random --variant gomokuu",
        "match random random --seed -1",
        "match random",
    ],
)
def test_wrong_usage_is_one_error_with_exit_code_2(refusal: Refusal, folder: Path, line: str) -> None:
    refusal(line, code=2)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a bot of one variant in a folder whose name has a space, and files of results."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my bots").mkdir()
    (tmp_path / "my bots" / "bot.py").write_text(ONLY_CONNECT4)
    (tmp_path / "results.csv").write_text("white,black,result\na,b,1-0\n")
    (tmp_path / "forfeits.csv").write_text("white,black,result,termination\na,b,1-0,time forfeit\nb,a,1-0,abandoned\n")
    (tmp_path / "empty.csv").write_text("white,black,result\n")
    (tmp_path / "void.csv").write_text("white,black,result\na,b,*\n")
    return tmp_path


@pytest.mark.parametrize(
    "line, code",
    [
        ("match 'my bots/bot.py' random --variant tictactoe", 1),
        ("estimate 'Mine=py:my bots/bot.py' --variants tictactoe --games 2", 1),
        ("match 'my bots' random", 2),
        ("match 'A=my bots' random", 2),
        ("rate forfeits.csv --without-forfeits", 2),
        ("rate void.csv", 2),
        ("records convert results.csv games.sgf", 2),
        ("match random random -o 'my bots'", 1),
        ("bot submit nofile.py", 1),
        ("records show results.csv", 2),
        ("tournament tables empty.csv", 1),
    ],
)
def test_errors_say_what_to_do(refusal: Refusal, folder: Path, line: str, code: int) -> None:
    refusal(line, code=code)


@pytest.mark.parametrize("kind", [".jsonl", ".sgf", ".pgn", ".csv", ".psq"])
def test_check_of_a_file_without_games_is_an_error(noughts: Any, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"empty{kind}"
    file.write_text("")
    errors = json.loads(noughts(f"records check {file} --format json", code=1).stdout)["errors"]
    assert [error["line"] for error in errors] == [1]
    assert "empty" in noughts(f"records check {file}", code=1).stdout


def test_ask_without_a_position_is_an_error(noughts: Any) -> None:
    result = noughts("bot ask random", code=2, stdin="\n")
    assert result.stderr.startswith("Error: standard input: got no position, expected one per line\nFix: For example: ")


def test_import_error_shows_only_the_frames_of_the_author(noughts: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nosuchmodule\n")
    errors = noughts(f"match py:{tmp_path}/broken.py:Bot random", code=2).stderr
    assert f"Fix: Correct {tmp_path}/broken.py.\n" in errors
    assert errors.count('  File "') == 1
    assert "ModuleNotFoundError: No module named 'nosuchmodule'" in errors


def test_token_command_says_that_it_ignores_the_server_variable(noughts: Any) -> None:
    errors = noughts("token revoke 1", code=1, env={"NOUGHTS_SERVER": "127.0.0.1:1"}).stderr
    assert errors.startswith("NOUGHTS_SERVER is set, but there is no token: using the database on this machine.\n")


def test_wins_on_the_board_are_called_won() -> None:
    assert terminations_line(20, {"line": 19, "board_full": 1}) == "20 games: 19 won, 1 board full"
