"""Judge the last move of a sequence without a game, for databases of positions and tests of engines."""

from collections.abc import Sequence
from typing import NamedTuple

from noughts_referee.rules.invalid import InvalidInput
from noughts_referee.rules.outcome import Termination
from noughts_referee.rules.variant import Variant

_STONES = tuple(1 << cell for cell in range(900))
"""The set that holds only this cell. No board is larger."""
_stone = _STONES.__getitem__


class MovesError(InvalidInput):
    """Impossible moves."""

    text = "moves: got {got}, expected {expected}"


class LastMove(NamedTuple):
    termination: Termination | None
    """`LINE`, `BOARD_FULL` or `ILLEGAL_MOVE`; None if the game continues."""
    kind: str | None = None
    """Why the variant forbids the move, e.g. `overline`; None for other moves, also for other illegal ones."""


_OPEN = LastMove(None)
_ILLEGAL = LastMove(Termination.ILLEGAL_MOVE)
_LINE = LastMove(Termination.LINE)
_BOARD_FULL = LastMove(Termination.BOARD_FULL)


def last_move(variant: Variant, moves: Sequence[int]) -> LastMove:
    """Judge the last of `moves` from the empty board. Without moves the game is open.

    Each earlier move must be on a free cell with support, but it can be a win or a forbidden move. Raises MovesError if
    an earlier move does not.
    """
    if not moves:
        return _OPEN
    before = moves[:-1]
    cell = moves[-1]
    side = len(before) & 1
    if variant.gravity or (before and not 0 <= min(before) <= max(before) < variant.cells):
        _check(variant, before)
    own, opponent = sum(map(_stone, before[side::2])), sum(map(_stone, before[1 - side :: 2]))
    occupied = own | opponent
    if occupied.bit_count() != len(before):
        # If a cell is used twice, a sum has a carry, or both sides have the cell. Either gives a smaller set.
        _check(variant, before)
    if not variant.takes(cell, occupied):
        return _ILLEGAL
    if variant.forbids is not None and (kind := variant.forbids(own, opponent, cell, side)) is not None:
        return LastMove(Termination.ILLEGAL_MOVE, kind)
    own |= 1 << cell
    if variant.completes(own, cell, opponent):
        return _LINE
    return _OPEN if variant.can_move(opponent, own, 1 - side) else _BOARD_FULL


def _check(variant: Variant, moves: Sequence[int]) -> None:
    """Raise MovesError for the first impossible move."""
    occupied = 0
    for number, cell in enumerate(moves, start=1):
        if not variant.takes(cell, occupied):
            if not 0 <= cell < variant.cells:
                problem = f"which is not on the board of {variant.name}"
            else:
                problem = "which is occupied" if occupied >> cell & 1 else "where a stone would have no support"
            supported = ", where stones come to rest" if variant.gravity else ""
            expected = f"different cells from 0 to {variant.cells - 1}{supported}"
            raise MovesError(f"cell {cell} as move {number}, {problem}", expected)
        occupied |= 1 << cell
