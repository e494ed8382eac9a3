"""Forbidden cells: free of stones, but not allowed for one side."""

from noughts_referee.rules import DRAWN, Position, won
from tests.support.forbidding import centre_later, corners_only, no_overline

# X has cells 0, 1 and 3 of the first row. O's stones are far away.
OVERLINE = [0, 24, 1, 26, 3, 28]


def test_a_forbidden_cell_is_not_free_and_has_its_kind() -> None:
    position = Position.after(no_overline(), OVERLINE)
    assert 2 not in position.free
    assert position.forbidden(2) == "overline"
    assert position.forbidden(4) is None


def test_a_cell_forbidden_to_one_side_is_allowed_to_the_other() -> None:
    position = Position.after(no_overline(), [29, *OVERLINE])
    assert position.side == 1
    assert 2 in position.free
    position.play(2)
    assert position.outcome() == won(1)


def test_a_move_can_be_forbidden_for_some_plies() -> None:
    position = Position(centre_later())
    assert position.free == (0, 1, 2, 3, 5, 6, 7, 8)
    position.play(0)
    assert 4 in position.free
    position.play(8)
    assert 4 in position.free


def test_a_position_that_was_set_up_forbids_by_the_side_to_move() -> None:
    variant = corners_only()
    assert Position.parse(variant, "......... O").free == (0, 2, 4, 6, 8)
    assert len(Position.parse(variant, "......... X").free) == 9


def test_a_side_without_an_allowed_move_has_drawn() -> None:
    position = Position.after(corners_only(), [0, 2, 4, 8, 5])
    assert position.outcome() is None
    position.play(6)
    position.play(7)
    assert position.ply < 9
    assert position.free == ()
    assert position.outcome() == DRAWN
