"""`noughts bot ask` without a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal, Transcript


def test_ask_prints_one_line_per_position(noughts: Any) -> None:
    positions = "X...O...X O\n\n.........\nXX./OO./... X\n"
    result = noughts("bot ask pascal:level=1 --format json", stdin=positions)
    first, second, third = map(json.loads, result.stdout.splitlines())
    assert list(first) == ["position", "move", "candidates", "scores"]
    assert first["position"] == "X...O...X O"
    assert first["scores"] == {str(cell): 1001 for cell in (1, 2, 3, 5, 6, 7)}
    assert first["candidates"] == [1, 2, 3, 5, 6, 7]
    assert first["move"] in first["candidates"]
    assert second["candidates"] == list(range(9))
    assert third["candidates"] == [2]
    assert third["move"] == 2


def test_seed_determines_the_moves_of_bot_ask(noughts: Any) -> None:
    def moves(seed: int) -> list[int]:
        lines = noughts(f"bot ask random --seed {seed} --format json", stdin="." * 9 + "\n").stdout
        return [json.loads(line)["move"] for line in lines.splitlines()]

    assert moves(1) == moves(1)
    assert len({moves(seed)[0] for seed in range(30)}) > 3


def test_ask_in_text_is_a_table(transcript: Transcript) -> None:
    transcript("bot ask minimax", stdin="XX.OO.... X\n")


def test_ask_plays_other_boards(noughts: Any) -> None:
    line = "bot ask nextstep:depth=1 --variant mnk:4,3,3 --format json"
    answer = json.loads(noughts(line, stdin="XX../..../OO.. X\n").stdout)
    assert answer["move"] == 2


def test_ask_shows_scores_on_the_scale_of_the_article(noughts: Any) -> None:
    answer = json.loads(noughts("bot ask minimax:faster=true --format json", stdin="XX.OO.... X\n").stdout)
    assert answer["candidates"] == [2]
    assert answer["scores"] == {"2": 10, "5": 0, "6": -9, "7": -9, "8": -9}


def test_bad_line_is_named_by_its_number(noughts: Any) -> None:
    result = noughts("bot ask random --format json", stdin=".........\n\nX.Y......\n", code=1)
    assert len(result.stdout.splitlines()) == 1
    assert "line 3" in result.stderr
    assert "expected" in result.stderr


def test_full_board_is_a_bad_line(refusal: Refusal) -> None:
    refusal("bot ask random", stdin="XOXOXOXOX O\n", code=1)


@pytest.mark.parametrize(
    "line",
    [
        "bot ask nobody",
        "bot ask random:level=1",
        "bot ask pascal --variant mnk:4,4,4",
        "bot ask minimax --variant mnk:15,15,5",
    ],
)
def test_unknown_or_unsuitable_bot_is_a_usage_error(transcript: Transcript, line: str) -> None:
    transcript(line, stdin=".........\n", code=2)
