"""The prompt of a model: rules from the variant's data, a board with names, and the moves."""

from __future__ import annotations

import pytest

from noughts_bots.language_models.prompt import question, rules
from noughts_bots.language_models.view import View, view_of
from noughts_referee.rules import OWN_NAMES, Board, Position, Variant, base_name, cell_name, members, parse_variant


def usual_view(variant: Variant) -> View:
    return view_of(variant, 0, scrambled=False)


@pytest.mark.parametrize(
    "variant, sentence",
    [
        ("tictactoe", "A player who has 3 stones in an unbroken row, column or diagonal wins."),
        ("gomoku", "A player who has 5 or more stones in an unbroken row, column or diagonal wins."),
        ("gomoku:exact", "A player who has exactly 5 stones in an unbroken row, column or diagonal wins."),
        ("connect4", "only the lowest free cell of a column can be played"),
        ("caro", "A line of 5 does not win if the other player has stones directly before and after it."),
        ("renju", "The first player must not make an overline"),
        ("gomoku+pro", "The second stone of the first player must be outside the 5x5 square"),
        ("qubic", "The board has 4 layers of 4 columns and 4 rows."),
        ("qubic", "row, column or diagonal, also through several layers wins."),
        ("mnk:7,6,4", "The board has 7 columns and 6 rows."),
    ],
)
def test_rules_follow_from_the_variants_data(variant: str, sentence: str) -> None:
    assert sentence in rules(usual_view(parse_variant(variant)))


def test_bent_lines_and_resting_stones_are_listed() -> None:
    board = Board(3, 2)
    variant = Variant("odd", 3, 2, (0b000111, 0b100001), supports=(0, 0, 0, 0b1, 0, 0b110))
    text = rules(usual_view(variant))
    assert board.lines(3) != variant.lines
    assert "A player who has stones on all cells of one of these sets wins:\na2 b2 c2\na2 c1" in text
    assert "a1 can be played only if there are stones on a2." in text
    assert "c1 can be played only if there are stones on b2 and c2." in text


@pytest.mark.parametrize("name", OWN_NAMES)
def test_cells_have_their_usual_names(name: str) -> None:
    variant = parse_variant(name)
    assert usual_view(variant).names == {cell: cell_name(variant, cell) for cell in range(variant.cells)}


def test_a_question_has_the_board_the_moves_and_the_side() -> None:
    variant = parse_variant("mnk:11,3,3")
    position = Position.after(variant, [0, 32, 12])
    assert question(usual_view(variant), position, hints=False) == (
        "  a b c d e f g h i j k\n"
        "3 X . . . . . . . . . .\n"
        "2 . X . . . . . . . . .\n"
        "1 . . . . . . . . . . O\n"
        "\n"
        "Moves so far: 1. X a3, 2. O k1, 3. X b2\n"
        "You play O. It is your turn."
    )
    layers = Position.after(parse_variant("tictactoe3d"), [9])
    assert question(usual_view(layers.variant), layers, hints=False).startswith(
        "Layer 1:\n  a b c\n3 . . .\n2 . . .\n1 . . .\nLayer 2:\n  a b c\n3 X . .\n"
    )
    set_up = Position.parse(parse_variant("tictactoe"), "X...O...X O")
    assert "Moves so far: unknown\n" in question(usual_view(set_up.variant), set_up, hints=False)


@pytest.mark.at_length
@pytest.mark.parametrize("name", [*OWN_NAMES, "mnk:26,3,3", "mnk:30,30,5"])
def test_a_scrambled_board_keeps_its_lines_and_supports(name: str) -> None:
    variant = parse_variant(name)
    layouts = set()
    for seed in range(120):
        view = view_of(variant, seed, scrambled=True)
        layouts.add(view.drawn)
        assert sorted(view.names) == list(range(variant.cells))
        assert len({name.lower() for name in view.names.values()}) == variant.cells
        # The lines of the drawing, taken as an ordinary board, are the lines of the variant.
        drawn_lines = {sum(1 << view.drawn[place] for place in members(line)) for line in variant.lines}
        assert drawn_lines == set(variant.lines)
        if variant.gravity:
            place_of = {cell: place for place, cell in enumerate(view.drawn)}
            for cell, below in enumerate(variant.supports):
                assert sum(1 << place_of[name] for name in members(below)) == variant.supports[place_of[cell]]
        assert base_name(variant.name) not in rules(view)
        assert not {*view.marks} & {"X", "O"}
    assert len(layouts) > 1


def test_a_scrambled_board_with_many_rows_has_a_name_for_each_cell() -> None:
    view = view_of(Variant("tall", 1, 900, (3,)), 1, scrambled=True)
    assert len(set(view.names.values())) == 900


def test_a_scrambled_view_follows_from_the_seed() -> None:
    variant = parse_variant("gomoku")
    first, same_seed, other_seed = (view_of(variant, seed, scrambled=True) for seed in (1, 1, 2))
    assert first == same_seed
    assert first != other_seed
    assert view_of(variant, 1, scrambled=False) == view_of(variant, 2, scrambled=False)
