"""Opening rules for five in a row, which reduce the first-move advantage.

With `pro` and `long-pro`, Black's first stone is in the middle and its second outside the 5x5 or 7x7 square around it.
With `swap` and `swap2` the players agree (see `agreement`). A variant's name ends with its rule: `gomoku+pro`.
"""

from collections.abc import Iterator
from dataclasses import replace

from noughts_referee.rules.variant import Forbids, Variant

NOT_IN_THE_MIDDLE = "not-in-the-middle"
TOO_NEAR = "too-near"

_DISTANCES = {"pro": 3, "long-pro": 4}
_AGREEMENTS = ("swap", "swap2")
OPENING_RULES = (*_DISTANCES, *_AGREEMENTS)
_FIVE = 5
_LEAST_EDGE = 9
"""The shortest edge of a board on which players can agree on an opening."""
SUITABLE = f"five or more in a row on a flat board of at least {_LEAST_EDGE}x{_LEAST_EDGE}"
"""The variants that opening rules apply to, in words."""


def with_opening(variant: Variant, rule: str) -> Variant:
    """Return the variant with one of `OPENING_RULES`. Raises ValueError for a variant that is not `SUITABLE`."""
    flat = variant.layers == 1 and not variant.gravity
    if not flat or min(variant.columns, variant.rows) < _LEAST_EDGE or min(map(len, variant.line_cells)) < _FIVE:
        raise ValueError(SUITABLE)
    name = f"{variant.name}+{rule}"
    if rule in _AGREEMENTS:
        return replace(variant, name=name, agreement=rule)
    width = 2 * _DISTANCES[rule] - 1
    forbidden = (
        "The first stone must be in the middle of the board. The second stone of the first player must be outside the "
        f"{width}x{width} square around it. {variant.forbidden}"
    )
    return replace(variant, name=name, forbids=_forbidding(variant, _DISTANCES[rule]), forbidden=forbidden.rstrip())


def _forbidding(variant: Variant, distance: int) -> Forbids:
    """Return a function that forbids the moves that the rule or the variant forbids."""
    middle = sum(
        1 << row * variant.columns + column for row in _middle(variant.rows) for column in _middle(variant.columns)
    )
    near = {
        1 << cell: sum(1 << other for other in _around(variant, cell, distance - 1)) for cell in range(variant.cells)
    }
    variant_forbids = variant.forbids

    def forbids(own: int, opponent: int, cell: int, side: int) -> str | None:
        if side == 0:
            if not own and not middle >> cell & 1:
                return NOT_IN_THE_MIDDLE
            # `own` is a key of `near` only if it is Black's only stone.
            if near.get(own, 0) >> cell & 1:
                return TOO_NEAR
        return None if variant_forbids is None else variant_forbids(own, opponent, cell, side)

    return forbids


def _middle(size: int) -> range:
    """Return the middle column or row of `size`, or the two middle ones."""
    return range((size - 1) // 2, size // 2 + 1)


def _around(variant: Variant, cell: int, reach: int) -> Iterator[int]:
    """Yield the cells within `reach` columns and rows."""
    row, column = divmod(cell, variant.columns)
    for other_row in range(max(0, row - reach), min(variant.rows, row + reach + 1)):
        for other_column in range(max(0, column - reach), min(variant.columns, column + reach + 1)):
            yield other_row * variant.columns + other_column
