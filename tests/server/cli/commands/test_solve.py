"""`noughts solve`: values of positions, and errors in the words of the command line."""

from __future__ import annotations

import json
import re

import pytest

from noughts_bots.reference import exact
from noughts_server.cli.commands import solve as command_module
from tests.support.command_line import invoke


def solution_of(line: str) -> dict[str, object]:
    """Return the JSON that `noughts solve` prints with these words."""
    document: dict[str, object] = json.loads(invoke(["solve", *line.split(), "--format", "json"]).stdout)
    return document


def test_a_solved_position_has_value_distance_and_best_moves() -> None:
    assert solution_of("tictactoe --moves a1,b2,a2") == {
        "variant": "tictactoe",
        "position": "...XO.X.. O",
        "value": "draw",
        "plies": None,
        "exact": True,
        "best": ["a3"],
    }
    document = solution_of("tictactoe3d --moves 2b2")
    assert (document["value"], document["plies"]) == ("loss", 6)


def test_a_forced_win_on_a_large_board_is_not_exact() -> None:
    document = solution_of("gomoku --moves h8,a1,i8,a3,j8,a5")
    assert (document["value"], document["plies"], document["exact"], document["best"]) == ("win", 3, False, ["g8"])


def test_an_unproven_value_is_unknown() -> None:
    assert invoke(["solve", "gomoku"]).stdout == "X to move: unknown; no forced win found\n"
    result = invoke(["solve", "mnk:4,4,4", "--effort", "100"])
    assert "unknown" in result.stdout
    assert "The search ended after an effort of 100; --effort N allows more." in result.stderr


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("", "VARIANT: got none, expected a variant"),
        ("tictactoe --variant tictactoe", "VARIANT and --variant: got both"),
        ("tictacto", "Error: VARIANT 'tictacto': expected one of"),
        ("tictactoe --moves z9", "--moves: got cell z9, which is off the board, expected cells of tictactoe"),
        ("tictactoe --moves a1,a1", "--moves: got a move 2 that placed a stone on a1 (cell 6), which is occupied"),
        ("tictactoe --moves a1,b1,a2,b2,a3", "--moves: got move 5 on a3, which ends the game (line)"),
        ("tictactoe --moves a1,b1,a2,b2,a3,b3", "--moves: got move 5 on a3, which ends the game (line)"),
    ],
)
def test_wrong_arguments_of_solve_are_refused_with_the_reason(line: str, complaint: str) -> None:
    assert complaint in " ".join(invoke(["solve", *line.split()], code=2).stderr.split())


def test_connect4_without_its_extra_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (exact, command_module):
        monkeypatch.setattr(module, "most_free_cells", lambda variant: 28)
    monkeypatch.setattr(command_module, "has_extra", lambda extra: False)
    error = " ".join(invoke(["solve", "connect4"], code=2).stderr.split())
    assert "connect4 cannot be solved here: 42 cells are free, expected at most 28" in error
    assert "pip install '.[connect4]'" in error


def solve_lines(variant: str, lines: str) -> list[dict[str, object]]:
    """Return the JSON documents that `noughts solve` prints for these lines on stdin."""
    output = invoke(["solve", "--variant", variant, "--format", "json"], stdin=lines).stdout
    return [json.loads(line) for line in output.splitlines()]


def test_positions_on_stdin_are_texts_or_documents() -> None:
    assert solve_lines("tictactoe", 'XX.OO....\n\n{"position": "X...O...X O", "move": 3}\nXXX/OO./... O\n') == [
        {"position": "XX.OO.... X", "value": 1, "distance": 1, "best": [2]},
        {"position": "X...O...X O", "value": 0, "distance": None, "best": [1, 3, 5, 7]},
        {"position": "XXXOO.... O", "value": -1, "distance": 0, "best": []},
    ]


def test_an_unknown_value_on_stdin_is_null() -> None:
    empty = "." * 225
    assert solve_lines("gomoku", empty) == [{"position": f"{empty} X", "value": None, "distance": None, "best": []}]


def test_many_positions_are_solved_in_their_order() -> None:
    positions = [f"{'.' * cell}X{'.' * (8 - cell)} O" for cell in range(9)] * 20
    documents = solve_lines("tictactoe", "\n".join(positions))
    assert [document["position"] for document in documents] == positions
    assert {document["value"] for document in documents} == {0}
    assert documents[:9] == documents[-9:]


@pytest.mark.parametrize("before", [0, 40])
def test_an_invalid_position_is_reported_with_its_line(before: int) -> None:
    lines = "X........ O\n" * before + "XX.\n"
    result = invoke(["solve", "--variant", "tictactoe"], stdin=lines, code=1)
    assert f"line {before + 1}: position 'XX.': expected 9 cells" in result.stderr


@pytest.mark.parametrize(
    "line, error",
    [
        ("{", "line 1: got broken JSON"),
        ("{}", 'line 1: got no field "position"'),
        ('{"position": ' + "[" * 100_000, "line 1: got too many nested lists or objects"),
    ],
)
def test_a_document_without_a_position_is_reported(line: str, error: str) -> None:
    assert error in invoke(["solve", "--variant", "tictactoe"], stdin=line, code=1).stderr


def test_the_value_of_connect4_is_a_table_for_people() -> None:
    table = invoke(["solve", "--variant", "connect4"], stdin="." * 42).stdout
    assert re.search(r"win +41  d1", table)
