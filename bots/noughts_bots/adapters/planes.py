"""Positions as numpy arrays. Row 0 is at the top, as in cell numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from noughts_referee.rules import Position, Variant, members

Plane = npt.NDArray[np.int8]


def own_and_other(position: Position) -> tuple[Plane, Plane]:
    """Return the stones of the side to move and of the other as 1 or 0, in the shape (layers * rows, columns)."""
    return _plane(position.variant, position.own), _plane(position.variant, position.opponent)


def signed_board(position: Position) -> Plane:
    """Return 1 for the side to move, -1 for the other, 0 for empty, in the shape (layers * rows, columns)."""
    own, other = own_and_other(position)
    return own - other


def by_player(position: Position) -> list[int]:
    """Return 1 for the first mover, 2 for the other, 0 for empty, by cell."""
    own, other = own_and_other(position)
    first, second = (other, own) if position.side else (own, other)
    board: list[int] = (first + 2 * second).ravel().tolist()
    return board


def cell_of_action(position: Position, action: Any) -> int:
    """Return the cell of an action; the illegal cell -1 for a full column. See `actions_of`."""
    number = int(action)
    variant = position.variant
    if not _drops(variant):
        return number
    return next((cell for cell in position.free if cell % variant.columns == number), -1)


def actions_of(position: Position) -> list[int]:
    """Return the legal actions: columns on a board of one layer with gravity, else cells."""
    variant = position.variant
    return sorted(cell % variant.columns for cell in position.free) if _drops(variant) else list(position.free)


def action_count(variant: Variant) -> int:
    return variant.columns if _drops(variant) else variant.cells


def _drops(variant: Variant) -> bool:
    """Return whether an action is a column, into which a stone falls."""
    return bool(variant.gravity) and variant.layers == 1


def _plane(variant: Variant, stones: int) -> Plane:
    plane: Plane = np.zeros(variant.cells, np.int8)
    plane[list(members(stones))] = 1
    return plane.reshape(-1, variant.columns)
