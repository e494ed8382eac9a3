"""Names of cells, as people write and type them."""

import pytest

from noughts_referee.rules import Variant, cell_name, parse_variant, read_cell
from noughts_server.cli.screens.board_layout import Layout, Scene
from noughts_server.cli.screens.play.cells import keypad_cell, landing_cell
from noughts_server.cli.screens.play.key_input import BoardCommand, TypedInput, Unreadable

TICTACTOE, GOMOKU, LARGEST = (parse_variant(name) for name in ("tictactoe", "mnk:15,15,5", "mnk:30,30,5"))


def typed(variant: Variant, keys: str, *, over: bool = False) -> BoardCommand | int | None:
    typing, got = TypedInput(variant), None
    for key in keys:
        got = typing.enter() if key == "\r" else typing.key(key, over=over)
    return got


@pytest.mark.parametrize("variant", [TICTACTOE, GOMOKU, LARGEST])
def test_every_cell_is_found_by_its_name(variant: Variant) -> None:
    names = [cell_name(variant, cell) for cell in range(variant.cells)]
    assert [read_cell(variant, name) for name in names] == list(range(variant.cells))


def test_the_keypad_lies_like_the_board() -> None:
    assert [keypad_cell(digit) for digit in (7, 8, 9, 4, 5, 6, 1, 2, 3)] == list(range(9))


def test_rows_are_counted_from_the_bottom() -> None:
    assert cell_name(TICTACTOE, 0) == "a3"
    assert cell_name(GOMOKU, 112) == "h8"
    assert cell_name(LARGEST, 29) == "ad30"


@pytest.mark.parametrize("text", ["p1", "a16", "a0", "8h", "", "h", "1h8", "zz1", "h" + "9" * 5_000])
def test_what_names_no_cell_is_none(text: str) -> None:
    assert read_cell(GOMOKU, text) is None


def test_a_coordinate_is_taken_as_soon_as_no_digit_can_follow() -> None:
    assert typed(GOMOKU, "h8") == 112
    assert typed(GOMOKU, "h1") is None
    assert typed(GOMOKU, "h1\r") == read_cell(GOMOKU, "h1")
    assert typed(GOMOKU, "h15") == 7
    assert typed(TICTACTOE, "b2") == 4
    assert typed(TICTACTOE, "5") == 4


def test_a_letter_is_a_command_unless_a_column_bears_it() -> None:
    assert typed(TICTACTOE, "n") is BoardCommand.NEW
    assert typed(GOMOKU, "n") is None
    assert typed(GOMOKU, "n\r") is BoardCommand.NEW
    assert typed(GOMOKU, "n8") == read_cell(GOMOKU, "n8")
    assert typed(GOMOKU, "n", over=True) is BoardCommand.NEW
    assert typed(GOMOKU, "u") is BoardCommand.UNDO
    assert typed(GOMOKU, "?") is BoardCommand.HELP


def test_what_can_never_become_a_cell_is_forgotten() -> None:
    assert typed(GOMOKU, "5q") is BoardCommand.LEAVE
    assert typed(GOMOKU, "ahh8") == 112
    assert typed(LARGEST, "aa5") == read_cell(LARGEST, "aa5")


def test_a_cell_off_the_board_says_what_to_type() -> None:
    with pytest.raises(Unreadable, match=r"h0: there is no such cell; type e\.g\. b2"):
        typed(GOMOKU, "h0\r")


@pytest.mark.long
@pytest.mark.parametrize("room", [(0, 0), (60, 21), (200, 60)])
@pytest.mark.parametrize("variant", [TICTACTOE, GOMOKU, LARGEST])
def test_a_click_finds_the_cell_that_is_drawn_there(variant: Variant, room: tuple[int, int]) -> None:
    layout = Layout(variant, room)
    for cell in range(variant.cells):
        assert layout.cell_at(*layout.place(cell)) == cell
    assert layout.cell_at(0, 0) is None
    lines = layout.draw(Scene(stones={0: "X"})).plain.split("\n")
    assert (len(lines), {len(line) for line in lines}) == (layout.height, {layout.width})


def test_the_board_is_drawn_as_large_as_it_fits() -> None:
    heights = [Layout(TICTACTOE, room).height for room in ((80, 24), (20, 8), (0, 0))]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 3
    assert Layout(GOMOKU, (55, 21)).height <= 21
    assert Layout(parse_variant("mnk:20,20,5"), (55, 21)).height <= 21


def test_the_winning_line_is_told_apart_without_colours() -> None:
    scene = Scene(stones={0: "X", 1: "X", 2: "X", 4: "O"}, winning=frozenset({0, 1, 2}), last=2)
    for room in ((80, 24), (20, 8), (0, 0)):
        assert Layout(TICTACTOE, room).draw(scene).plain.count("*") >= 4


def test_stones_fall_in_a_column_only_where_the_variant_lets_them() -> None:
    assert landing_cell(TICTACTOE, (1, 2), 2) == 2
    assert landing_cell(TICTACTOE, (1, 2), 5) is None
