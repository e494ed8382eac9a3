"""`noughts records list`: the games of a file, filtered and as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.commands.records.conftest import GAMES, json_lines
from tests.server.cli.conftest import Refusal, Transcript


def test_list_of_results_shows_no_length(noughts: Any, games_file: Path, tmp_path: Path) -> None:
    noughts(f"records convert {games_file} {tmp_path}/games.csv")
    lines = noughts(f"records list {tmp_path}/games.csv").stdout.splitlines()
    assert lines[2].split() == ["1", "ada", "bob", "1-0", "line", "-"]


@pytest.mark.parametrize(
    "options, numbers",
    [
        ("", [1, 2, 3, 4]),
        ("--bot bob", [1, 2, 4]),
        ("--bot ada --against cyd", [3]),
        ("--bot ada --result won", [1, 2]),
        ("--bot bob --result lost --termination timeout", [2]),
        ("--result 1/2-1/2", [3]),
        ("--variant mnk:5,4,4", [4]),
        ("--opening a3a2", [1]),
        ("--opening '[0]' --bot cyd", [3]),
        ("--limit 1", [1]),
    ],
)
def test_list_shows_the_games_that_match_all_filters(
    noughts: Any, games_file: Path, options: str, numbers: list[int]
) -> None:
    games = json_lines(noughts(f"records list {games_file} {options} --format json").stdout)
    assert [game["number"] for game in games] == numbers
    assert games[0]["moves"] == GAMES[numbers[0] - 1]["moves"]


@pytest.mark.parametrize(
    "options",
    [
        "--against bob",
        "--result won",
        "--termination late",
        "--variant chess",
        "--opening 1",
        "--variant tictactoe --opening nosuch",
        "--variant tictactoe --opening a1z9",
        "--variant tictactoe --opening ''",
    ],
)
def test_invalid_filters_are_refused(refusal: Refusal, games_file: Path, options: str) -> None:
    refusal(f"records list {games_file} {options}", code=2)


def test_list_in_text_is_a_table(transcript: Transcript, games_file: Path) -> None:
    transcript(f"records list {games_file} --limit 2")
    transcript(f"records list {games_file} --bot nobody")
