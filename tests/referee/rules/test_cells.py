"""Names of cells, and the phrases that explain a wrong move."""

from __future__ import annotations

import pytest

from noughts_referee.rules import Position, Variant, cell_names, parse_variant, placed_wrongly
from tests.support.forbidding import centre_later


@pytest.mark.parametrize(
    "name, cells, names",
    [
        ("gomoku", (0, 14, 112, 210, 224), "a15 o15 h8 a1 o1"),
        ("connect4", (0, 35, 38), "a6 a1 d1"),
        ("tictactoe3d", (0, 13, 26), "1a3 2b2 3c1"),
        ("mnk:30,3,3", (25, 26, 29, 89), "z3 aa3 ad3 ad1"),
    ],
)
def test_cells_are_named_by_column_from_the_left_and_row_from_the_bottom(
    name: str, cells: tuple[int, ...], names: str
) -> None:
    assert cell_names(parse_variant(name), cells) == names


def phrase_about(variant: Variant, text: str, cell: int) -> str:
    position = Position.parse(variant, text)
    return placed_wrongly(variant, position.own, position.opponent, cell, position.side)


def test_a_phrase_about_a_wrong_move_has_the_name_of_the_cell() -> None:
    tictactoe = parse_variant("tictactoe")
    assert phrase_about(tictactoe, "X........", 0) == "placed a stone on a3 (cell 0), which is occupied"
    assert phrase_about(tictactoe, ".........", 2**32 - 1) == "placed a stone off the board, which has cells 0 to 8"
    floating = phrase_about(parse_variant("connect4"), "." * 42, 0)
    assert floating.startswith("placed a stone on a6 (cell 0), which rests on nothing")
    assert (
        phrase_about(centre_later(), ".........", 4)
        == "placed a stone on b2 (cell 4), which is forbidden for this side (centre)"
    )
