"""Faults of games in files are found, each with its line, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from noughts_server.records.json_lines import read_json_lines
from noughts_server.records.replay import check_games, record_errors

WON = {
    "variant": "tictactoe",
    "first": "a",
    "second": "b",
    "seed": 1,
    "moves": [0, 3, 1, 4, 2],
    "result": "1-0",
    "termination": "line",
    "winning_cells": [0, 1, 2],
}
# The fifth stone of X, on i8, makes two open threes.
DOUBLE_THREE = [112, 0, 114, 14, 83, 210, 98, 224, 113]

PLANTED: dict[str, tuple[Any, str]] = {
    "bad JSON": ('{"variant": "tictactoe", "mov', "got broken JSON"),
    "no object": ("[1, 2]", "JSON that is not an object"),
    "a missing field": (
        {name: value for name, value in WON.items() if name != "result"},
        "got no 'result', expected a game with",
    ),
    "an unknown variant": ({**WON, "variant": "chess"}, "variant 'chess': expected one of"),
    "a cell that is occupied": (
        {**WON, "moves": [0, 3, 0, 4, 2]},
        "move 3 (a3): X placed a stone on a3 (cell 0), which is",
    ),
    "a cell off the board": ({**WON, "moves": [0, 3, 9]}, "move 3 (cell 9): X placed a stone on cell 9, off the board"),
    "a move after the end": (
        {**WON, "moves": [0, 3, 1, 4, 2, 5]},
        "move 6 (c2): got a move after the end, expected none",
    ),
    "a wrong result": ({**WON, "result": "0-1"}, "result: got 0-1, expected 1-0: so the board shows"),
    "a wrong termination": ({**WON, "termination": "board_full"}, "termination: got board_full, expected line"),
    "a game that ended by a line and is open": (
        {**WON, "moves": [0, 3, 1], "winning_cells": []},
        "termination: got line, expected a different one",
    ),
    "a forbidden move of renju that counts": (
        {**WON, "variant": "renju", "moves": DOUBLE_THREE, "result": "*", "termination": "void", "winning_cells": []},
        "which is forbidden for this side (double-three)",
    ),
    "an opening that is not what was played": (
        {**WON, "opening": [3, 0]},
        "got an opening [3, 0], expected the first of",
    ),
    "an opening that ends the game": ({**WON, "opening": [0, 3, 1, 4, 2]}, "the opening ends the game (line)"),
    "a game that is there twice": (WON, "seed: got 1, which a game of the same two had before"),
    "times of other moves": ({**WON, "times_ms": [1.0, 2.0]}, "times_ms: got 2 of them, expected 5"),
    "a seed that contradicts its text": ({**WON, "seed_text": "0"}, "seed_text: got '0', expected the seed"),
    "a line that was not won": (
        {**WON, "winning_cells": [0, 4, 8]},
        "winning_cells: got [0, 4, 8], expected [0, 1, 2]",
    ),
    "a loser who was not to move": (
        {**WON, "moves": [0, 3], "result": "1-0", "termination": "timeout", "winning_cells": []},
        "result: got 1-0, expected that X, to move, lost by timeout",
    ),
    "a draw by a crash": (
        {**WON, "moves": [0, 3], "result": "1/2-1/2", "termination": "crashed", "winning_cells": []},
        "expected that one side lost by crashed",
    ),
    "an unknown termination": ({**WON, "termination": "bored"}, "termination: got 'bored', expected one of line"),
    "winning cells that are none": ({**WON, "winning_cells": None}, "winning_cells: got None, expected [0, 1, 2]"),
    "a time of its own that is none": (
        {**WON, "first_time": "soon", "second_time": "none"},
        "first_time: got 'soon', expected",
    ),
    "a time of one's own alone": ({**WON, "first_time": "1/move"}, "second_time: got '', expected"),
    "a player against itself": ({**WON, "second": "a"}, "players: got 'a' against itself, expected two"),
    "a fault that is no object": (
        {**WON, "fault": "it crashed"},
        'fault: got "it crashed", expected {"bot": "b", "side": "second", "ply": 5, "reason": "..."}',
    ),
    "a fault of the winner": (
        {**WON, "fault": {"bot": "a", "side": "first", "ply": 5, "reason": "crashed"}},
        'fault: got {"bot": "a", "side": "first", "ply": 5, "reason": "crashed"}, expected {"bot": "b"',
    ),
    "a fault without a reason": (
        {**WON, "fault": {"bot": "b", "side": "second", "ply": 5}},
        'fault: got {"bot": "b", "side": "second", "ply": 5}, expected',
    ),
    "a word that is no result": ({**WON, "result": "2-0"}, "got the result '2-0', expected one of 1-0"),
}


def written(number: int, line: Any) -> str:
    if isinstance(line, str):
        return line + "\n"
    # Seeds of their own, but for the one that is there twice.
    return json.dumps(line if line is WON else {**line, "seed": 100 + number}) + "\n"


def test_every_planted_error_is_found_with_its_line_and_nothing_else() -> None:
    lines = [json.dumps(WON) + "\n"]
    for number, (line, _) in enumerate(PLANTED.values()):
        lines += [written(number, line), json.dumps({**WON, "seed": 1000 + number}) + "\n"]
    found = [finding for findings in check_games(read_json_lines(lines)) for finding in findings]
    assert [finding.line for finding in found] == [2 + 2 * number for number in range(len(PLANTED))]
    for finding, (what, (_, message)) in zip(found, PLANTED.items(), strict=True):
        assert message in finding.error, what


@pytest.mark.parametrize(
    "game",
    [
        {"moves": [0, 3], "result": "0-1", "termination": "timeout", "times_ms": [1, 1, 5000]},
        {"moves": [0, 3], "result": "1-0", "termination": "crashed"},
        {"moves": [0, 3], "result": "1/2-1/2", "termination": "adjudicated"},
        {"moves": [], "result": "0-1", "termination": "adjudicated"},
        {"moves": [0], "result": "*", "termination": "void"},
        {"moves": [0, 4, 8, 2, 6, 3, 5, 7, 1], "result": "1/2-1/2", "termination": "board_full"},
        {"moves": [0, 3, 1, 4, 2], "result": "1-0", "opening": [0, 3]},
        {"variant": "gomoku+swap2", "moves": [112, 113, 98], "result": "0-1", "termination": "illegal_move"},
        {"variant": "gomoku+swap2", "moves": [112, 113, 98], "result": "1-0", "termination": "illegal_move"},
        {"variant": "renju", "moves": DOUBLE_THREE[:-1], "result": "0-1", "termination": "illegal_move"},
    ],
)
def test_games_that_can_be_are_right(game: dict[str, Any]) -> None:
    line = json.dumps({"variant": "tictactoe", "first": "a", "second": "b", **game})
    assert [finding for findings in check_games(read_json_lines([line])) for finding in findings] == []


def test_a_record_without_an_ending_is_checked_by_the_board() -> None:
    (placed,) = read_json_lines(['{"variant":"tictactoe","first":"","second":"","moves":[0,3,1,4,2],"result":"*"}'])
    assert not isinstance(placed.game, Exception)
    assert record_errors(placed.game) == ["result: got *, expected 1-0: so the board shows"]
