"""The places of a board's drawing: layers, centres of cells, lines, and the part of a large board that is in use."""

from math import ceil, sqrt
from typing import Any

CELL = 40
HALF = 20
_EDGE, _APART = 2, 8
"""Space around a board without labels, and between layers."""
_LARGEST_WHOLE = 20
"""Columns or rows of the largest board that is never cropped."""
_LEAST_CROPPED = 15
"""The least size of a cropped board, which has `_AROUND` free columns and rows around the stones."""
_AROUND = 3


class BoardLayout:
    """Places of the layers, which stand in rows of equal length, with labels or without.

    Of a large board it holds only the area in use, if `used` are the cells of all moves: cells outside have no place.
    """

    def __init__(self, board: dict[str, Any], labels: bool, used: list[int] | None = None) -> None:
        self._all = int(board["columns"]), int(board["rows"])
        self.layers = int(board["layers"])
        (self._left, self.columns), (self._above, self.rows) = self._area(used)
        self.names: list[str] = board["names"][self._left : self._left + self.columns]
        self.top_name = self._all[1] - self._above
        self.stars = [
            (column, row)
            for column, row in map(self.square, board["stars"])
            if 0 <= column < self.columns and 0 <= row < self.rows
        ]
        self.width, self.height = self.columns * CELL, self.rows * CELL
        self._across = ceil(sqrt(self.layers))
        down = ceil(self.layers / self._across)
        # Labels have about 11 px on a board that is as wide as a phone; the style sheet scales them elsewhere.
        self.font = max(self._across * self.width, down * self.height) // 28 + 1
        self._edge = _APART if self.layers > 1 else _EDGE
        self._label = self.font * 8 // 5 if labels else self._edge
        self.away = self._label // 2
        """From an edge to the middle of its labels."""
        self._top = self._label if self.layers > 1 else self._edge
        self.whole_width = self._across * (self._label + self.width + self._edge)
        self.whole_height = down * (self._top + self.height + self._label)
        self.corners = [self.corner(layer) for layer in range(self.layers)]

    def _area(self, used: list[int] | None) -> list[tuple[int, int]]:
        """Return the first column and the number of columns that are shown, and the same of the rows."""
        columns, rows = self._all
        if used is None or self.layers > 1 or max(self._all) <= _LARGEST_WHOLE:
            return [(0, columns), (0, rows)]
        used = used or [rows // 2 * columns + columns // 2]
        places = [[cell % columns for cell in used], [cell // columns for cell in used]]
        most = max(_LEAST_CROPPED, *(max(at) - min(at) + 1 + 2 * _AROUND for at in places))
        axes = [(whole, min(most, whole), min(at) + max(at) + 1) for whole, at in zip(self._all, places, strict=True)]
        return [(max(0, min(whole - size, (ends - size) // 2)), size) for whole, size, ends in axes]

    def corner(self, layer: int) -> tuple[int, int]:
        down, across = divmod(layer, self._across)
        x = self._label + across * (self._label + self.width + self._edge)
        return x, self._top + down * (self._top + self.height + self._label)

    def layer(self, cell: int) -> int:
        return cell // (self._all[0] * self._all[1])

    def square(self, cell: int) -> tuple[int, int]:
        """Return column and row of the cell in what is shown of its layer."""
        return cell % self._all[0] - self._left, cell // self._all[0] % self._all[1] - self._above

    def centre(self, cell: int) -> tuple[int, int]:
        (x, y), (column, row) = self.corner(self.layer(cell)), self.square(cell)
        return x + column * CELL + HALF, y + row * CELL + HALF

    def grid(self, x: int, y: int, inset: int) -> str:
        """Return the lines of the layer whose corner is here; without inset they are around the cells.

        Where the board continues, they reach the edge.
        """
        more = 0 if inset else 1
        left, above = (1 if start else inset for start in (self._left, self._above))
        right = inset if self._left + self.columns == self._all[0] else 1
        below = inset if self._above + self.rows == self._all[1] else 1
        wide, high = self.width - left - right, self.height - above - below
        down = (f"M{x + inset + column * CELL} {y + above}v{high}" for column in range(self.columns + more))
        across = (f"M{x + left} {y + inset + row * CELL}h{wide}" for row in range(self.rows + more))
        return "".join((*down, *across))

    def plate(self, x: int, y: int) -> str:
        """Return the edge of the plate over the layer whose corner is here, and its holes."""
        hole = "a16 16 0 1 0 32 0a16 16 0 1 0 -32 0z"
        holes = (
            f"M{x + column * CELL + 4} {y + row * CELL + HALF}{hole}"
            for row in range(self.rows)
            for column in range(self.columns)
        )
        return f"M{x} {y}h{self.width}v{self.height}h-{self.width}z" + "".join(holes)

    def axis_centres(self) -> tuple[str, str]:
        """Return the centres of the columns of all layers, and of their rows, for scripts; `-` is not shown."""
        columns = (
            str(x + column * CELL + HALF) if 0 <= column < self.columns else "-"
            for x, _ in self.corners
            for column in range(-self._left, self._all[0] - self._left)
        )
        rows = (
            str(y + row * CELL + HALF) if 0 <= row < self.rows else "-"
            for _, y in self.corners
            for row in range(-self._above, self._all[1] - self._above)
        )
        return " ".join(columns), " ".join(rows)
