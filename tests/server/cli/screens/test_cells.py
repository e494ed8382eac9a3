"""Cells by name, key and mouse click."""

import pytest

from noughts_referee.rules import Variant, cell_name, parse_variant, read_cell
from noughts_server.cli.screens.board_layout import Layout, Scene
from noughts_server.cli.screens.play.cells import keypad_cell, landing_cell
from noughts_server.cli.screens.play.key_input import BoardCommand, TypedInput, Unreadable

TICTACTOE, GOMOKU, LARGEST = (parse_variant(name) for name in ("tictactoe", "mnk:15,15,5", "mnk:30,30,5"))


def type_keys(variant: Variant, keys: str, *, over: bool = False) -> BoardCommand | int | None:
    """Type these keys (a carriage return is Enter), and return the result of the last: a command, a cell, or None.

    `over`: the game has ended.
    """
    typed_input, result = TypedInput(variant), None
    for key in keys:
        result = typed_input.enter() if key == "\r" else typed_input.key(key, over=over)
    return result


@pytest.mark.parametrize("variant", [TICTACTOE, GOMOKU, LARGEST])
def test_every_cell_is_found_by_its_name(variant: Variant) -> None:
    names = [cell_name(variant, cell) for cell in range(variant.cells)]
    assert [read_cell(variant, name) for name in names] == list(range(variant.cells))


def test_the_keypad_is_arranged_like_the_board() -> None:
    assert [keypad_cell(digit) for digit in (7, 8, 9, 4, 5, 6, 1, 2, 3)] == list(range(9))


def test_rows_are_counted_from_the_bottom() -> None:
    assert cell_name(TICTACTOE, 0) == "a3"
    assert cell_name(GOMOKU, 112) == "h8"
    assert cell_name(LARGEST, 29) == "ad30"


@pytest.mark.parametrize("text", ["p1", "a16", "a0", "8h", "", "h", "1h8", "zz1", "h" + "9" * 5_000])
def test_invalid_names_of_cells_are_none(text: str) -> None:
    assert read_cell(GOMOKU, text) is None


def test_a_coordinate_is_taken_as_soon_as_no_digit_can_follow() -> None:
    assert type_keys(GOMOKU, "h8") == 112
    assert type_keys(GOMOKU, "h1") is None
    assert type_keys(GOMOKU, "h1\r") == read_cell(GOMOKU, "h1")
    assert type_keys(GOMOKU, "h15") == 7
    assert type_keys(TICTACTOE, "b2") == 4
    assert type_keys(TICTACTOE, "5") == 4


def test_a_letter_is_a_command_unless_it_names_a_column() -> None:
    assert type_keys(TICTACTOE, "n") is BoardCommand.NEW
    assert type_keys(GOMOKU, "n") is None
    assert type_keys(GOMOKU, "n\r") is BoardCommand.NEW
    assert type_keys(GOMOKU, "n8") == read_cell(GOMOKU, "n8")
    assert type_keys(GOMOKU, "n", over=True) is BoardCommand.NEW
    assert type_keys(GOMOKU, "u") is BoardCommand.UNDO
    assert type_keys(GOMOKU, "?") is BoardCommand.HELP


def test_keys_that_cannot_become_a_cell_are_dropped() -> None:
    assert type_keys(GOMOKU, "5q") is BoardCommand.LEAVE
    assert type_keys(GOMOKU, "ahh8") == 112
    assert type_keys(LARGEST, "aa5") == read_cell(LARGEST, "aa5")


def test_a_cell_off_the_board_says_what_to_type() -> None:
    with pytest.raises(Unreadable, match=r"h0: there is no such cell; type e\.g\. b2"):
        type_keys(GOMOKU, "h0\r")


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


def test_the_winning_line_is_marked_without_colours() -> None:
    scene = Scene(stones={0: "X", 1: "X", 2: "X", 4: "O"}, winning=frozenset({0, 1, 2}), last=2)
    for room in ((80, 24), (20, 8), (0, 0)):
        assert Layout(TICTACTOE, room).draw(scene).plain.count("*") >= 4


def test_no_stone_falls_in_a_variant_without_gravity() -> None:
    assert landing_cell(TICTACTOE, (1, 2), 2) == 2
    assert landing_cell(TICTACTOE, (1, 2), 5) is None
