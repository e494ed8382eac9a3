"""Small boards: cheap, with the winning line of the last move."""

import re
import time
from collections.abc import Callable

from noughts_server.core.board_geometry import geometry
from noughts_server.drawing.board_svg import board_svg
from noughts_server.drawing.thumbnails import stones_path, thumbnail, thumbnail_back


def test_a_list_of_full_boards_costs_less_than_one_large_board() -> None:
    variant = "mnk:30,30,5"
    moves = list(range(900))

    def seconds(draw: Callable[[], object]) -> float:
        draw()
        spent = []
        for _ in range(5):
            began = time.thread_time()
            draw()
            spent.append(time.thread_time() - began)
        return min(spent)

    large_board = seconds(lambda: board_svg({"board": geometry(variant), "moves": moves}))
    assert seconds(lambda: [stones_path(variant, moves, side) for side in (0, 1)]) < large_board / 5
    assert stones_path("tictactoe", [4, 0], 0) == "M1.24 1.24l.52.52m0-.52l-.52.52"
    assert stones_path("qubic", [0, 17], 1) == "M6.2 0.5a.3 .3 0 1 0 .6 0a.3 .3 0 1 0-.6 0"


def test_a_small_board_has_the_winning_line_through_the_last_move() -> None:
    game = {"variant": "tictactoe", "moves": [0, 3, 2, 4, 1], "winning_cells": [0, 1, 2]}
    assert re.findall(r'class="won" d="(.*?)"', thumbnail(game)) == ["M0.5 0.5L2.5 0.5"]
    assert thumbnail({**game, "variant": "plugin:missing"}) == ""


def test_a_small_board_in_layers_marks_the_cells_of_a_line_across_layers() -> None:
    game = {"variant": "qubic", "moves": [0, 1, 16, 2, 32, 3, 48], "winning_cells": [0, 16, 32, 48]}
    drawn = thumbnail(game)
    assert re.findall(r'class="won-cells" d="(.*?)"', drawn) == ["M0 0h1v1h-1zM5 0h1v1h-1zM0 5h1v1h-1zM5 5h1v1h-1z"]
    assert 'class="won"' not in drawn
    assert 'class="won-cells"' not in thumbnail({**game, "winning_cells": []})


def test_layers_of_a_small_board_have_numbers() -> None:
    numbers = re.compile('<text class="thumb-layer" x="([^"]+)" y="([^"]+)">([^<]+)<')
    places = [("2", "2", "1"), ("7", "2", "2"), ("2", "7", "3"), ("7", "7", "4")]
    assert numbers.findall(thumbnail({"variant": "qubic", "moves": []}, own=True)) == places
    assert numbers.findall(thumbnail_back("qubic")) == places
    assert not numbers.findall(thumbnail_back("gomoku"))
