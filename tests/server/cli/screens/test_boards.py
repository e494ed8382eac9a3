"""`noughts play` on boards with gravity, on boards of several layers, and with forbidden cells."""

import pytest

from noughts_referee.rules import cell_name, parse_variant, read_cell
from noughts_server.cli.screens.board_layout import Layout, Scene
from noughts_server.cli.screens.play.cells import landing_cell
from noughts_server.cli.screens.play.key_input import TypedInput
from noughts_server.cli.screens.play.match import ActionRefused, Match, Participant
from noughts_server.cli.screens.play.mode import help_text
from tests.support.boards import falling_board, layered_board

TWO_PERSONS = (Participant("Person A", person=True), Participant("Person B", person=True))


def test_a_stone_falls_as_far_as_it_can() -> None:
    variant = falling_board(7, 6)
    assert variant.gravity
    match = Match(variant, TWO_PERSONS, always_first=0)
    assert [cell_name(variant, match.play(3)) for _ in range(3)] == ["d1", "d2", "d3"]


def test_a_full_column_is_refused() -> None:
    match = Match(falling_board(4, 2), TWO_PERSONS, always_first=0)
    match.play(0)
    match.play(0)
    with pytest.raises(ActionRefused, match="Column a is full"):
        match.play(0)


def test_a_column_without_a_row_can_be_typed_if_stones_fall() -> None:
    variant = falling_board(7, 6)
    assert read_cell(variant, "d") == 3
    typing = TypedInput(variant)
    assert typing.key("4", over=False) == 3
    assert typing.key("d", over=False) is None
    assert typing.enter() == 3
    assert landing_cell(variant, variant.free_cells(0), 3) == 38


def test_names_of_cells_in_layers_begin_with_the_layer() -> None:
    cube = layered_board(3)
    assert cube.layers == 3
    names = [cell_name(cube, cell) for cell in range(27)]
    assert (names[0], names[13], names[26]) == ("1a3", "2b2", "3c1")
    assert [read_cell(cube, name) for name in names] == list(range(27))
    assert read_cell(cube, "b2") is None
    typing = TypedInput(cube)
    assert [typing.key(key, over=False) for key in "2b2"] == [None, None, 13]


@pytest.mark.parametrize("edge", [3, 4])
def test_layers_lie_side_by_side_with_headings(edge: int) -> None:
    cube = layered_board(edge)
    layout = Layout(cube, (55, 21))
    assert layout.width <= 55
    lines = layout.draw(Scene(stones={0: "X", cube.cells - 1: "O"})).plain.split("\n")
    assert [f"layer {layer + 1}" in lines[0] for layer in range(edge)] == [True] * edge
    assert all(layout.cell_at(*layout.place(cell)) == cell for cell in range(cube.cells))


@pytest.mark.parametrize("room", [(90, 40), (50, 40), (30, 20)])
def test_forbidden_cells_have_a_cross_in_every_size_and_stones_have_none(room: tuple[int, int]) -> None:
    layout = Layout(falling_board(7, 6), room)
    lines = layout.draw(Scene(stones={0: "X"}, cursor=2, forbidden=frozenset({1, 2}))).plain.split("\n")
    size = layout.size
    for cell, sign in ((0, "X"), (1, "\N{MULTIPLICATION SIGN}"), (2, "\N{MULTIPLICATION SIGN}")):
        column, line = layout.place(cell)
        assert lines[line + size.height // 2][column + size.width // 2] == sign
    assert "".join(lines).count("\N{MULTIPLICATION SIGN}") == 2


def test_the_help_explains_crosses_if_the_variant_forbids_moves() -> None:
    assert "forbidden" in help_text(parse_variant("renju")).plain
    assert "forbidden" not in help_text(parse_variant("caro")).plain
