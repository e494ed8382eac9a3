"""Boards as text, and winning cells next to the result of a game."""

from __future__ import annotations

import json
from typing import Any

import pytest

from noughts_server.cli.drawing.boards import board_lines, cells_text


def board_text(variant: str, moves: list[int], *, width: int = 80) -> list[str]:
    return [line.plain.rstrip() for line in board_lines(variant, moves, width=width)]


def test_a_board_is_drawn_by_rows_with_stones_where_they_rest() -> None:
    assert board_text("connect4", [38, 31])[-3:] == ["2 . . . O . . .", "1 . . . X . . .", "  a b c d e f g"]


def test_layers_stand_side_by_side_or_one_under_another() -> None:
    wide = [
        " layer 1   layer 2   layer 3",
        "3 X . .   3 . . .   3 . . .",
        "2 . . .   2 . O .   2 . . .",
        "1 . . .   1 . . .   1 . . X",
        "  a b c     a b c     a b c",
    ]
    assert board_text("tictactoe3d", [0, 13, 26]) == wide
    narrow = board_text("tictactoe3d", [0, 13, 26], width=22)
    assert narrow[:3] == [" layer 1   layer 2", "3 X . .   3 . . .", "2 . . .   2 . O ."]
    assert narrow[3:] == [
        "1 . . .   1 . . .",
        "  a b c     a b c",
        "",
        " layer 3",
        "3 . . .",
        "2 . . .",
        "1 . . X",
        "  a b c",
    ]


def test_rows_and_columns_of_a_large_board_are_named_as_its_cells_are() -> None:
    lines = board_text("gomoku", [112])
    assert lines[7].startswith(" 8 . . . . . . . X .")
    assert lines[-1] == "   a b c d e f g h i j k l m n o"
    assert board_text("mnk:28,3,3", [])[-1].endswith(" y zaaab")
    assert cells_text("gomoku", [112, 0]) == "h8 a15"
    assert cells_text("square-six", [112, 0]) == "112 0"


def test_a_variant_that_is_not_installed_here_is_named_instead_of_drawn() -> None:
    assert board_text("square-six", [0]) == ["(no board: square-six is not installed here)"]


@pytest.fixture
def stored_games(noughts: Any, database: str) -> None:
    """Store four games of tictactoe3d in the database before the server opens it."""
    path = database.removeprefix("sqlite:///")
    noughts(
        f"tournament run random nextstep:depth=2 --variant tictactoe3d --games 4 --seed 3 --db {path} --format json"
    )


def test_a_finished_game_shows_its_board_and_its_winning_cells(stored_games: None, noughts: Any, server: str) -> None:
    [tournament] = json.loads(noughts(f"tournament list --server {server} --format json").stdout)["tournaments"]
    name = tournament["tournament"].removeprefix("tournaments/")
    lines = noughts(f"game list {name} --server {server} --format json").stdout
    won_games = [game for game in map(json.loads, lines.splitlines()) if game["termination"] == "line"]
    assert won_games
    for game in won_games:
        winner = (len(game["moves"]) - 1) % 2
        assert game["moves"][-1] in game["winning_cells"]
        assert set(game["winning_cells"]) <= set(game["moves"][winner::2])
    number = won_games[0]["game"].rpartition("/")[2]
    output = noughts(f"game show {name}/{number} --server {server}").stdout
    assert "layer 3" in output
    assert f"winning cells: {cells_text('tictactoe3d', won_games[0]['winning_cells'])}" in output
    events = noughts(f"watch {name}/{number} --server {server} --format json").stdout
    [snapshot] = [json.loads(text) for text in events.splitlines()]
    assert snapshot["games"][0]["winning_cells"] == won_games[0]["winning_cells"]
