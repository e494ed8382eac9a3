"""Boards on which stones fall, and boards of several layers."""

import pytest

from noughts_referee.rules import cell_name, parse_variant, read_cell
from noughts_server.cli.screens.board_layout import Layout, Scene
from noughts_server.cli.screens.play.cells import landing_cell
from noughts_server.cli.screens.play.key_input import TypedInput
from noughts_server.cli.screens.play.match import ActionRefused, Match, Participant
from noughts_server.cli.screens.play.mode import help_text
from tests.support.boards import falling, layered

PEOPLE = (Participant("Person A", person=True), Participant("Person B", person=True))


def test_a_stone_falls_as_far_as_it_can() -> None:
    variant = falling(7, 6)
    assert variant.gravity
    table = Match(variant, PEOPLE, always_first=0)
    assert [cell_name(variant, table.play(3)) for _ in range(3)] == ["d1", "d2", "d3"]


def test_a_full_column_is_refused() -> None:
    table = Match(falling(4, 2), PEOPLE, always_first=0)
    table.play(0)
    table.play(0)
    with pytest.raises(ActionRefused, match="Column a is full"):
        table.play(0)


def test_a_column_alone_can_be_typed_where_stones_fall() -> None:
    variant = falling(7, 6)
    assert read_cell(variant, "d") == 3
    typing = TypedInput(variant)
    assert typing.key("4", over=False) == 3
    assert typing.key("d", over=False) is None
    assert typing.enter() == 3
    assert landing_cell(variant, variant.free_cells(0), 3) == 38


def test_cells_of_layers_have_the_layers_number_in_front() -> None:
    cube = layered(3)
    assert cube.layers == 3
    names = [cell_name(cube, cell) for cell in range(27)]
    assert (names[0], names[13], names[26]) == ("1a3", "2b2", "3c1")
    assert [read_cell(cube, name) for name in names] == list(range(27))
    assert read_cell(cube, "b2") is None
    typing = TypedInput(cube)
    assert [typing.key(key, over=False) for key in "2b2"] == [None, None, 13]


@pytest.mark.parametrize("edge", [3, 4])
def test_layers_lie_side_by_side_with_headings(edge: int) -> None:
    cube = layered(edge)
    layout = Layout(cube, (55, 21))
    assert layout.width <= 55
    drawn = layout.draw(Scene(stones={0: "X", cube.cells - 1: "O"})).plain.split("\n")
    assert [f"layer {layer + 1}" in drawn[0] for layer in range(edge)] == [True] * edge
    assert all(layout.cell_at(*layout.place(cell)) == cell for cell in range(cube.cells))


@pytest.mark.parametrize("room", [(90, 40), (50, 40), (30, 20)])
def test_forbidden_cells_have_a_cross_in_every_size_and_stones_have_none(room: tuple[int, int]) -> None:
    layout = Layout(falling(7, 6), room)
    lines = layout.draw(Scene(stones={0: "X"}, cursor=2, forbidden=frozenset({1, 2}))).plain.split("\n")
    size = layout.size
    for cell, sign in ((0, "X"), (1, "\N{MULTIPLICATION SIGN}"), (2, "\N{MULTIPLICATION SIGN}")):
        column, line = layout.place(cell)
        assert lines[line + size.height // 2][column + size.width // 2] == sign
    assert "".join(lines).count("\N{MULTIPLICATION SIGN}") == 2


def test_the_help_tells_of_crosses_where_moves_are_forbidden() -> None:
    assert "forbidden" in help_text(parse_variant("renju")).plain
    assert "forbidden" not in help_text(parse_variant("caro")).plain
