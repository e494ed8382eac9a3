"""`noughts solve`: values, and refusals in the words of the command line."""

from __future__ import annotations

import json

import pytest

from tests.support.command_line import invoked


def solved(line: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(invoked(["solve", *line.split(), "--format", "json"]).stdout)
    return document


def test_a_solved_position_has_value_distance_and_best_moves() -> None:
    assert solved("tictactoe --moves a1,b2,a2") == {
        "variant": "tictactoe",
        "position": "...XO.X.. O",
        "value": "draw",
        "plies": None,
        "exact": True,
        "best": ["a3"],
    }
    lost = solved("tictactoe3d --moves 2b2")
    assert (lost["value"], lost["plies"]) == ("loss", 6)


def test_a_forced_win_on_a_large_board_is_not_exact() -> None:
    found = solved("gomoku --moves h8,a1,i8,a3,j8,a5")
    assert (found["value"], found["plies"], found["exact"], found["best"]) == ("win", 3, False, ["g8"])


def test_an_unproven_value_is_unknown() -> None:
    assert invoked(["solve", "gomoku"]).stdout == "X to move: unknown; no forced win found\n"
    stopped = invoked(["solve", "mnk:4,4,4", "--positions", "100"])
    assert "unknown" in stopped.stdout
    assert "The search ended after 100 positions; --positions N allows more." in stopped.stderr


@pytest.mark.parametrize(
    "line, said",
    [
        ("connect4", "connect4 cannot be solved here: 42 cells are free, expected at most 28"),
        ("tictacto", "Error: VARIANT 'tictacto': expected one of"),
        ("tictactoe --moves z9", "--moves: got cell z9, which is off the board, expected cells of tictactoe"),
        ("tictactoe --moves a1,a1", "--moves: got a move 2 that placed a stone on a1 (cell 6), which is occupied"),
        ("tictactoe --moves a1,b1,a2,b2,a3", "--moves: got move 5 on a3, which ends the game (line)"),
        ("tictactoe --moves a1,b1,a2,b2,a3,b3", "--moves: got move 5 on a3, which ends the game (line)"),
    ],
)
def test_what_cannot_be_solved_is_refused_with_the_reason(line: str, said: str) -> None:
    assert said in " ".join(invoked(["solve", *line.split()], code=2).stderr.split())
