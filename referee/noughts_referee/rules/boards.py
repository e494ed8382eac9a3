"""Tables of a variant: straight lines on flat boards and in cubes, the ends of lines, and the cells beneath cells.

A cell's number is (layer * rows + row) * columns + column.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_Place = tuple[int, int, int]
"""Column, row and layer."""

# Rows, columns and diagonals of each layer, in this order; then the directions between layers.
_FLAT = ((1, 0, 0), (0, 1, 0), (1, 1, 0), (-1, 1, 0))
_RISING = tuple((column, row, 1) for row in (0, 1, -1) for column in (0, 1, -1))


class Board(NamedTuple):
    columns: int
    rows: int
    layers: int = 1

    def lines(self, length: int) -> tuple[int, ...]:
        """Return all straight lines of `length` cells: rows, columns, diagonals, and then lines between layers."""
        # With length 1, every direction yields the same lines.
        return tuple(dict.fromkeys(line for line, _ in _runs(self, length)))

    def ends(self, length: int) -> dict[int, int]:
        """Return for each straight line of `length` cells the cells directly before and after it."""
        return dict(_runs(self, length))

    def beneath(self) -> tuple[int, ...]:
        """Return for each cell the one below it, in the next row; 0 in the last row."""
        return tuple(self.cell_at((column, row + 1, layer)) for column, row, layer in self.places())

    def places(self) -> Iterator[_Place]:
        for layer in range(self.layers):
            for row in range(self.rows):
                for column in range(self.columns):
                    yield column, row, layer

    def holds(self, place: _Place) -> bool:
        column, row, layer = place
        return 0 <= column < self.columns and 0 <= row < self.rows and 0 <= layer < self.layers

    def cell_at(self, place: _Place) -> int:
        """Return the set of the cell at a place; 0 off the board."""
        column, row, layer = place
        return 1 << (layer * self.rows + row) * self.columns + column if self.holds(place) else 0


# Several variants have the same board, and a process that plays plugins makes them all before its first game.
@lru_cache(maxsize=4)
def _runs(board: Board, length: int) -> tuple[tuple[int, int], ...]:
    """Return each straight line, with the cells directly before and after it."""
    runs = []
    for step in _FLAT + _RISING if board.layers > 1 else _FLAT:
        for start in board.places():
            if board.holds(_moved(start, step, length - 1)):
                cells = sum(board.cell_at(_moved(start, step, distance)) for distance in range(length))
                ends = board.cell_at(_moved(start, step, -1)) | board.cell_at(_moved(start, step, length))
                runs.append((cells, ends))
    return tuple(runs)


def _moved(place: _Place, step: _Place, times: int) -> _Place:
    column, row, layer = place
    across, down, through = step
    return column + times * across, row + times * down, layer + times * through
