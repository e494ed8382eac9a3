"""Opening rules: allowed cells for Black's first two stones, and the variants that can have such a rule."""

import pytest

from noughts_referee.rules import (
    OPENING_RULES,
    Position,
    VariantError,
    base_name,
    canonical_name,
    covers,
    last_move,
    parse_variant,
)
from tests.support.games import ArbiterDriver, conditions, verdict


@pytest.mark.parametrize("rule, square", [("pro", range(5, 10)), ("long-pro", range(4, 11))])
@pytest.mark.parametrize("base", ["gomoku", "renju", "caro:exact", "mnk:15,15,6"])
def test_black_begins_in_the_middle_then_outside_its_square(base: str, rule: str, square: range) -> None:
    variant = parse_variant(f"{base}+{rule}")
    position = Position(variant)
    assert position.free == (112,)
    assert position.forbidden(111) == "not-in-the-middle"
    position.play(112)
    assert len(position.free) == 224
    position.play(0)
    inside = {row * 15 + column for row in square for column in square} - {112}
    assert {cell for cell in range(225) if position.forbidden(cell) == "too-near"} == inside
    assert set(position.free) == set(range(225)) - inside - {0, 112}
    position.play(position.free[0])
    assert len(position.free) == 222
    position.play(111)
    assert 113 in position.free


def test_a_board_with_an_even_edge_has_four_middle_cells() -> None:
    position = Position(parse_variant("gomoku:20+pro"))
    assert position.free == (189, 190, 209, 210)
    position.play(210)
    position.play(0)
    two_rows_and_columns_away, three_columns_away = 210 - 2 * 20 - 2, 210 - 3
    assert position.forbidden(two_rows_and_columns_away) == "too-near"
    assert position.forbidden(three_columns_away) is None


def test_an_opening_rule_keeps_the_forbidden_moves_of_the_variant() -> None:
    position = Position(parse_variant("renju+pro"), own=sum(1 << cell for cell in (67, 82, 97, 127, 142)), opponent=0)
    assert position.forbidden(112) == "overline"
    assert position.forbidden(111) is None


def test_a_first_stone_off_the_middle_or_a_second_too_near_loses() -> None:
    for moves in ([0], [112, 0, 113]):
        driver = ArbiterDriver()
        game = driver.start(conditions("gomoku+pro"))
        driver.play(game, moves)
        assert verdict(game) == ("0-1", "illegal_move")
    assert last_move(parse_variant("gomoku+pro"), [112, 0, 113]).kind == "too-near"


def test_a_name_is_a_variant_and_an_opening_rule() -> None:
    assert canonical_name(" mnk:20,20,5+long-pro ") == "gomoku20+long-pro"
    assert parse_variant("mnk:15,15,5+pro") is parse_variant("gomoku+pro")
    assert parse_variant("gomoku+pro").name == "gomoku+pro"
    assert base_name("gomoku+pro") == base_name("gomoku") == "gomoku"
    assert covers(("mnk",), "gomoku+pro")
    assert covers(("renju",), "renju+long-pro")
    assert not covers(("renju",), "caro+pro")
    assert OPENING_RULES == ("pro", "long-pro", "swap", "swap2")


@pytest.mark.parametrize(
    "name, expected",
    [
        ("tictactoe+pro", "five or more in a row on a flat board"),
        ("connect4+pro", "five or more in a row on a flat board"),
        ("mnk:8,9,5+pro", "at least 9x9"),
        ("gomoku+por", "`gomoku+pro` or `gomoku+long-pro` or `gomoku+swap` or"),
        ("gomoku+", "`gomoku+pro` or `gomoku+long-pro`"),
        ("gomoku+pro+pro", "an opening rule"),
        ("gomuku+pro", "did you mean gomoku?"),
    ],
)
def test_a_name_with_a_rule_that_does_not_fit_is_refused(name: str, expected: str) -> None:
    with pytest.raises(VariantError) as raised:
        parse_variant(name)
    assert expected in raised.value.expected
