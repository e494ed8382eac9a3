"""Games that are read from files, as the tables of a tournament need them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from noughts_server.cli.errors import Problem
from noughts_server.cli.game_sources import game_record, games_in
from noughts_server.tables.tally import Tally

LINE: dict[str, Any] = {
    "variant": "tictactoe",
    "first": "A",
    "second": "B",
    "seed": (1 << 64) - 1,
    "moves": [4, 0, 8],
    "result": "1-0",
    "termination": "line",
}


def write_lines(folder: Path, *lines: Any) -> Path:
    """Write a file of these lines; objects are written as JSON."""
    path = folder / "games.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_a_line_is_a_game(tmp_path: Path) -> None:
    optional_fields = {"times_ms": [1.5, 0, 2], "opening": [4], "fault": {"bot": "B", "reason": "resigned"}}
    plain, full = games_in(str(write_lines(tmp_path, LINE, "", LINE | optional_fields)))
    assert (plain.first, plain.second, list(plain.moves), plain.result) == ("A", "B", [4, 0, 8], "1-0")
    assert (plain.times_ms, plain.opening, plain.first_chosen) == ((), (), 0)
    assert (full.times_ms, full.opening, full.fault) == ((1.5, 0, 2), (4,), "resigned")


def test_an_opening_by_agreement_differs_from_one_of_cells(tmp_path: Path) -> None:
    (game,) = games_in(str(write_lines(tmp_path, LINE | {"opening": {"rule": "swap2", "opener": "A", "stones": 3}})))
    assert (game.opening, game.agreed_plies, game.first_chosen) == ((), 3, 3)


def test_a_timeout_adds_a_time_without_a_move(tmp_path: Path) -> None:
    (game,) = games_in(str(write_lines(tmp_path, LINE | {"termination": "timeout", "times_ms": [1, 2, 3, 4000]})))
    assert game.times_ms == (1, 2, 3, 4000)


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("nonsense", "broken JSON"),
        ("[1]", "JSON that is not an object"),
        (LINE | {"result": "2-0"}, "the result '2-0'"),
        ({key: value for key, value in LINE.items() if key != "variant"}, "no 'variant'"),
        (LINE | {"moves": [4, True]}, "'moves' that are not a list of cells"),
        (LINE | {"times_ms": [1, 2, -3]}, "'times_ms'"),
        (LINE | {"times_ms": [1, 2, math.inf]}, "'times_ms'"),
        (LINE | {"times_ms": [math.nan, 2, 3]}, "'times_ms'"),
        (LINE | {"opening": ["a1"]}, "'opening'"),
        ("[" * 100_000, "broken JSON"),
    ],
)
def test_an_invalid_line_is_named(tmp_path: Path, line: Any, complaint: str) -> None:
    path = write_lines(tmp_path, LINE, line)
    with pytest.raises(Problem) as raised:
        list(map(game_record, games_in(str(path))))
    assert str(raised.value).startswith(f"{path}, line 2: got {complaint}")
    assert "expected" in str(raised.value)


def test_results_without_moves_are_games_of_unknown_ends(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("white,black,result\nA,B,1-0\nA,B,1-0\n")
    games = list(map(game_record, games_in(str(path))))
    assert [(game.first, game.second, game.result, game.termination) for game in games] == [
        ("A", "B", "1-0", "unknown")
    ] * 2
    assert Tally(games).distinct == 2
