"""Boards as SVG: titles, winning lines and the area of a large board."""

import re
from typing import Any

import pytest

from noughts_referee.rules import column_name, parse_variant
from noughts_server.core.board_geometry import geometry
from noughts_server.drawing.board_svg import board_svg, picture


def test_titles_of_pictures_are_text() -> None:
    game: dict[str, Any] = {"board": geometry("tictactoe"), "moves": []}
    assert "<title>&lt;b&gt; - &amp;</title>" in picture(board_svg(game), "<b> - &")


def test_winning_lines_are_drawn_in_every_direction() -> None:
    board = geometry("gomoku")
    # Four lines of five begin at the last stone, on 7 7: to the left, and down in three directions.
    won = sorted({112 + step * number for step in (-1, 14, 15, 16) for number in range(5)})
    drawn = board_svg({"board": board, "moves": [*range(8), 112], "winning_cells": won}, labels=False)
    ends = [tuple(map(int, re.findall("-?[0-9]+", line))) for line in re.findall('win-line" d="(.*?)"', drawn)]
    centre, far, more = 2 + 7 * 40 + 20, 160, 12
    assert sorted(ends) == sorted(
        [
            (centre - far - more, centre, centre + more, centre),
            (centre + more, centre - more, centre - far - more, centre + far + more),
            (centre, centre - more, centre, centre + far + more),
            (centre - more, centre - more, centre + far + more, centre + far + more),
        ]
    )
    assert 'class="played second-lost"' in drawn


@pytest.mark.parametrize(
    "variant, moves, columns, rows",
    [
        ("mnk:30,30,5", [], (8, 22), (8, 22)),
        ("mnk:30,30,5", [0, 31], (0, 14), (0, 14)),
        ("mnk:30,30,5", [899], (15, 29), (15, 29)),
        ("mnk:30,30,5", [3 + 30 * 3, 20 + 30 * 5], (0, 23), (0, 23)),
        ("mnk:21,6,5", [10], (3, 17), (0, 5)),
        ("mnk:20,20,5", [0], (0, 19), (0, 19)),
    ],
)
def test_a_large_board_is_cropped_to_its_stones(
    variant: str, moves: list[int], columns: tuple[int, int], rows: tuple[int, int]
) -> None:
    known = parse_variant(variant)
    drawn = board_svg({"board": geometry(variant), "moves": moves})
    names = re.findall(r'class="name"[^>]*>([a-z0-9]+)<', drawn)
    wide = columns[1] - columns[0] + 1
    assert (names[0], names[wide - 1]) == tuple(column_name(column) for column in columns)
    assert (names[wide], names[-1]) == tuple(str(known.rows - row) for row in rows)
    assert drawn.count('class="stone ') == len(moves)
