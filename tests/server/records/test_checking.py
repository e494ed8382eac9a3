"""`records check` finds every error of the games in a file with its line, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from noughts_server.records.json_lines import read_json_lines
from noughts_server.records.replay import check_games, record_errors

WON_GAME = {
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

ERRORS: dict[str, tuple[Any, str]] = {
    "bad JSON": ('{"variant": "tictactoe", "mov', "got broken JSON"),
    "not an object": ("[1, 2]", "JSON that is not an object"),
    "a missing field": (
        {name: value for name, value in WON_GAME.items() if name != "result"},
        "got no 'result', expected a game with",
    ),
    "an unknown variant": ({**WON_GAME, "variant": "chess"}, "variant 'chess': expected one of"),
    "a cell that is occupied": (
        {**WON_GAME, "moves": [0, 3, 0, 4, 2]},
        "move 3 (a3): X placed a stone on a3 (cell 0), which is",
    ),
    "a cell off the board": (
        {**WON_GAME, "moves": [0, 3, 9]},
        "move 3 (cell 9): X placed a stone on cell 9, off the board",
    ),
    "a move after the end": (
        {**WON_GAME, "moves": [0, 3, 1, 4, 2, 5]},
        "move 6 (c2): got a move after the end, expected none",
    ),
    "a wrong result": ({**WON_GAME, "result": "0-1"}, "result: got 0-1, expected 1-0: so the board shows"),
    "a wrong termination": ({**WON_GAME, "termination": "board_full"}, "termination: got board_full, expected line"),
    "a game that ended by a line and is open": (
        {**WON_GAME, "moves": [0, 3, 1], "winning_cells": []},
        "termination: got line, expected a different one",
    ),
    "a forbidden move of renju that counts": (
        {
            **WON_GAME,
            "variant": "renju",
            "moves": DOUBLE_THREE,
            "result": "*",
            "termination": "void",
            "winning_cells": [],
        },
        "which is forbidden for this side (double-three)",
    ),
    "an opening that is not what was played": (
        {**WON_GAME, "opening": [3, 0]},
        "got an opening [3, 0], expected the first of",
    ),
    "an opening that ends the game": ({**WON_GAME, "opening": [0, 3, 1, 4, 2]}, "the opening ends the game (line)"),
    "a game that is in the file twice": (WON_GAME, "seed: got 1, which a game of the same two had before"),
    "times of other moves": ({**WON_GAME, "times_ms": [1.0, 2.0]}, "times_ms: got 2 of them, expected 5"),
    "a seed that contradicts its text": ({**WON_GAME, "seed_text": "0"}, "seed_text: got '0', expected the seed"),
    "a line that was not won": (
        {**WON_GAME, "winning_cells": [0, 4, 8]},
        "winning_cells: got [0, 4, 8], expected [0, 1, 2]",
    ),
    "a loser who was not to move": (
        {**WON_GAME, "moves": [0, 3], "result": "1-0", "termination": "timeout", "winning_cells": []},
        "result: got 1-0, expected that X, to move, lost by timeout",
    ),
    "a draw by a crash": (
        {**WON_GAME, "moves": [0, 3], "result": "1/2-1/2", "termination": "crashed", "winning_cells": []},
        "expected that one side lost by crashed",
    ),
    "an unknown termination": ({**WON_GAME, "termination": "bored"}, "termination: got 'bored', expected one of line"),
    "winning cells that are null": ({**WON_GAME, "winning_cells": None}, "winning_cells: got None, expected [0, 1, 2]"),
    "an invalid time of one side": (
        {**WON_GAME, "first_time": "soon", "second_time": "none"},
        "first_time: got 'soon', expected",
    ),
    "a time of only one side": ({**WON_GAME, "first_time": "1/move"}, "second_time: got '', expected"),
    "a player against itself": ({**WON_GAME, "second": "a"}, "players: got 'a' against itself, expected two"),
    "a fault that is not an object": (
        {**WON_GAME, "fault": "it crashed"},
        'fault: got "it crashed", expected {"bot": "b", "side": "second", "ply": 5, "reason": "..."}',
    ),
    "a fault of the winner": (
        {**WON_GAME, "fault": {"bot": "a", "side": "first", "ply": 5, "reason": "crashed"}},
        'fault: got {"bot": "a", "side": "first", "ply": 5, "reason": "crashed"}, expected {"bot": "b"',
    ),
    "a fault without a reason": (
        {**WON_GAME, "fault": {"bot": "b", "side": "second", "ply": 5}},
        'fault: got {"bot": "b", "side": "second", "ply": 5}, expected',
    ),
    "an unknown result": ({**WON_GAME, "result": "2-0"}, "got the result '2-0', expected one of 1-0"),
}


def line_of(number: int, line: Any) -> str:
    """Return a line of the file: a text as it is, or a game as JSON."""
    if isinstance(line, str):
        return line + "\n"
    # Each game has a seed of its own, except the game that is in the file twice.
    return json.dumps(line if line is WON_GAME else {**line, "seed": 100 + number}) + "\n"


def test_every_error_is_found_with_its_line_and_no_other() -> None:
    lines = [json.dumps(WON_GAME) + "\n"]
    for number, (line, _) in enumerate(ERRORS.values()):
        lines += [line_of(number, line), json.dumps({**WON_GAME, "seed": 1000 + number}) + "\n"]
    all_findings = [finding for findings in check_games(read_json_lines(lines)) for finding in findings]
    assert [finding.line for finding in all_findings] == [2 + 2 * number for number in range(len(ERRORS))]
    for finding, (case, (_, message)) in zip(all_findings, ERRORS.items(), strict=True):
        assert message in finding.error, case


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
def test_possible_games_have_no_errors(game: dict[str, Any]) -> None:
    line = json.dumps({"variant": "tictactoe", "first": "a", "second": "b", **game})
    assert [finding for findings in check_games(read_json_lines([line])) for finding in findings] == []


def test_a_record_without_an_ending_is_checked_by_the_board() -> None:
    (placed,) = read_json_lines(['{"variant":"tictactoe","first":"","second":"","moves":[0,3,1,4,2],"result":"*"}'])
    assert not isinstance(placed.game, Exception)
    assert record_errors(placed.game) == ["result: got *, expected 1-0: so the board shows"]
