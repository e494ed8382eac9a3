"""Random openings, chosen ply by ply, that do not end the game."""

from noughts_referee.rules import Draws, Variant, members

# On boards with edges of at least this length, the first stone is at most a fifth of the edge from the middle.
_LARGE_EDGE = 7
# Each later stone is at most this many rows and columns from another stone.
_NEAR = 3


def drawn_plies(variant: Variant, plies: int, draws: Draws, *, natural: bool) -> tuple[int, ...] | None:
    """Return `plies` random legal cells that do not end the game; None if there are too few.

    If `natural`, on large boards the first stone is near the middle, and the others up to three cells from a stone.
    """
    stays_near = natural and min(variant.columns, variant.rows) >= _LARGE_EDGE
    cells: list[int] = []
    own = opponent = 0
    for ply in range(plies):
        side = ply & 1
        legal = variant.legal_cells(own, opponent, side)
        if stays_near:
            near_cells = _surroundings(variant, own | opponent) if cells else _middle(variant)
            legal = tuple(cell for cell in legal if near_cells >> cell & 1) or legal
        while legal:
            cell = draws.choice(legal)
            if variant.outcome(own | 1 << cell, opponent, cell, side) is None:
                break
            legal = tuple(other for other in legal if other != cell)
        else:
            return None
        cells.append(cell)
        own, opponent = opponent, own | 1 << cell
    return tuple(cells)


def _middle(variant: Variant) -> int:
    """Return the cells around the middle, in all layers, as a set."""
    reach = max(1, min(variant.columns, variant.rows) // 5)
    row, column = (variant.rows - 1) // 2, (variant.columns - 1) // 2
    return _square(variant, row, column, reach)


def _surroundings(variant: Variant, stones: int) -> int:
    """Return the cells near the stones, in all layers, as a set."""
    near = 0
    for cell in members(stones):
        row, column = divmod(cell % (variant.rows * variant.columns), variant.columns)
        near |= _square(variant, row, column, _NEAR)
    return near


def _square(variant: Variant, row: int, column: int, reach: int) -> int:
    """Return the cells at most `reach` rows and columns away, in all layers, as a set."""
    cells = 0
    for layer in range(variant.layers):
        for near_row in range(max(0, row - reach), min(variant.rows, row + reach + 1)):
            first, last = max(0, column - reach), min(variant.columns, column + reach + 1)
            start = (layer * variant.rows + near_row) * variant.columns
            cells |= ((1 << last) - (1 << first)) << start
    return cells
