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


def test_boards_without_labels_have_the_numbers_of_their_layers() -> None:
    svg = board_svg({"board": geometry("qubic"), "moves": []}, labels=False)
    assert re.findall(r'<text class="layer"[^>]*>(\d)</text>', svg) == ["1", "2", "3", "4"]
    assert "<text" not in board_svg({"board": geometry("gomoku"), "moves": []}, labels=False)


def test_winning_lines_are_drawn_in_every_direction() -> None:
    board = geometry("gomoku")
    # Four lines of five begin at the last stone, in column 7 and row 7: one to the left, three downwards.
    winning_cells = sorted({112 + step * number for step in (-1, 14, 15, 16) for number in range(5)})
    svg = board_svg({"board": board, "moves": [*range(8), 112], "winning_cells": winning_cells}, labels=False)
    ends = [tuple(map(int, re.findall("-?[0-9]+", line))) for line in re.findall('win-line" d="(.*?)"', svg)]
    centre = 2 + 7 * 40 + 20  # of the last stone: behind a margin of 2, and 7 cells of 40
    far = 4 * 40  # from the first to the last stone of a line
    more = 12  # the line extends beyond the centres of these stones
    assert sorted(ends) == sorted(
        [
            (centre - far - more, centre, centre + more, centre),
            (centre + more, centre - more, centre - far - more, centre + far + more),
            (centre, centre - more, centre, centre + far + more),
            (centre - more, centre - more, centre + far + more, centre + far + more),
        ]
    )
    assert 'class="played second-lost"' in svg


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
    rules = parse_variant(variant)
    svg = board_svg({"board": geometry(variant), "moves": moves})
    labels = re.findall(r'class="name"[^>]*>([a-z0-9]+)<', svg)
    column_count = columns[1] - columns[0] + 1
    assert (labels[0], labels[column_count - 1]) == tuple(column_name(column) for column in columns)
    assert (labels[column_count], labels[-1]) == tuple(str(rules.rows - row) for row in rows)
    assert svg.count('class="stone ') == len(moves)
