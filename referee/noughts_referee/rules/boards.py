"""Tables of a variant: straight lines on flat boards and in cubes, the ends of lines, and the cells beneath cells.

A cell's number is (layer * rows + row) * columns + column.
"""

from collections.abc import Iterator
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
        return tuple(dict.fromkeys(line for line, _ in self._runs(length)))

    def ends(self, length: int) -> dict[int, int]:
        """Return for each straight line of `length` cells the cells directly before and after it."""
        return dict(self._runs(length))

    def beneath(self) -> tuple[int, ...]:
        """Return for each cell the one below it, in the next row; 0 in the last row."""
        return tuple(self._set([(column, row + 1, layer)]) for column, row, layer in self._places())

    def _places(self) -> Iterator[_Place]:
        for layer in range(self.layers):
            for row in range(self.rows):
                for column in range(self.columns):
                    yield column, row, layer

    def _runs(self, length: int) -> Iterator[tuple[int, int]]:
        """Yield each straight line, with the cells directly before and after it."""
        for step in _FLAT + _RISING if self.layers > 1 else _FLAT:
            for start in self._places():
                yield from self._run(start, step, length)

    def _run(self, start: _Place, step: _Place, length: int) -> Iterator[tuple[int, int]]:
        last = _moved(start, step, length - 1)
        if self._holds(last):
            cells = self._set([_moved(start, step, distance) for distance in range(length)])
            yield cells, self._set([_moved(start, step, -1), _moved(start, step, length)])

    def _holds(self, place: _Place) -> bool:
        return all(0 <= at < size for at, size in zip(place, self, strict=True))

    def _set(self, places: list[_Place]) -> int:
        """Return the set of the places that are on the board."""
        return sum(
            1 << (layer * self.rows + row) * self.columns + column
            for column, row, layer in places
            if self._holds((column, row, layer))
        )


def _moved(place: _Place, step: _Place, times: int) -> _Place:
    return place[0] + times * step[0], place[1] + times * step[1], place[2] + times * step[2]
