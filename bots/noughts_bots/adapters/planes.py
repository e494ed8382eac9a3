"""Positions as arrays of numpy: row 0 is at the top, as cells are numbered."""

from typing import Any

import numpy as np
import numpy.typing as npt

from noughts_referee.rules import Position, Variant, members

Plane = npt.NDArray[np.int8]


def own_and_other(position: Position) -> tuple[Plane, Plane]:
    """The stones of the side to move and of the other one: 1 or 0, of shape (layers * rows, columns)."""
    return _plane(position.variant, position.own), _plane(position.variant, position.opponent)


def signed_board(position: Position) -> Plane:
    """1 for the side to move, -1 for the other, 0 for none: of shape (layers * rows, columns)."""
    own, other = own_and_other(position)
    return own - other


def by_player(position: Position) -> list[int]:
    """1 for who moved first, 2 for the other, 0 for none: cell by cell."""
    first, second = (position.own, position.opponent)[:: -1 if position.side else 1]
    board = [0] * position.variant.cells
    for cell in members(first):
        board[cell] = 1
    for cell in members(second):
        board[cell] = 2
    return board


def cell_of_action(position: Position, chosen: Any) -> int:
    """The cell of an action: with gravity that of a column, else itself. -1 where there is none, which is illegal."""
    action, variant = int(chosen), position.variant
    if not _drops(variant):
        return action
    return next((cell for cell in position.free if cell % variant.columns == action), -1)


def actions_of(position: Position) -> list[int]:
    """The legal actions: with gravity columns, else cells."""
    variant = position.variant
    return sorted(cell % variant.columns for cell in position.free) if _drops(variant) else list(position.free)


def action_count(variant: Variant) -> int:
    """How many actions there are."""
    return variant.columns if _drops(variant) else variant.cells


def _drops(variant: Variant) -> bool:
    return bool(variant.gravity) and variant.layers == 1


def _plane(variant: Variant, stones: int) -> Plane:
    plane: Plane = np.zeros(variant.cells, np.int8)
    plane[list(members(stones))] = 1
    return plane.reshape(-1, variant.columns)
