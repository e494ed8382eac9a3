"""The places of a board's drawing: layers, centres of cells, lines, and the part of a large board that is in use."""

from math import ceil, sqrt
from typing import Any

CELL = 40
HALF = 20
_EDGE = 2
"""Space around a board of one layer without labels."""
_APART = 8
"""Space between layers, and around a board of several layers without labels."""
_LARGEST_WHOLE = 20
"""A board with more columns or rows than this is cropped."""
_LEAST_CROPPED = 15
"""The least columns and rows of a cropped board."""
_AROUND = 3
"""The free columns and rows of a cropped board on each side of its stones."""


class BoardLayout:
    """The layers of a board, side by side in one or more rows, with labels or without.

    With `used`, the cells of all moves, a large board is cropped to the area in use. Cells outside of it are not drawn.
    """

    def __init__(self, board: dict[str, Any], labels: bool, used: list[int] | None = None) -> None:
        self._board_columns = int(board["columns"])
        self._board_rows = int(board["rows"])
        self.layers = int(board["layers"])
        (self._first_column, self.columns), (self._first_row, self.rows) = self._area(used)
        self.names: list[str] = board["names"][self._first_column : self._first_column + self.columns]
        self.top_name = self._board_rows - self._first_row
        self.stars = [
            (column, row)
            for column, row in map(self.column_and_row, board["stars"])
            if 0 <= column < self.columns and 0 <= row < self.rows
        ]
        self.width, self.height = self.columns * CELL, self.rows * CELL
        self._across = ceil(sqrt(self.layers))
        down = ceil(self.layers / self._across)
        # Labels have about 11 px on a board that is as wide as a phone; the style sheet scales them elsewhere.
        self.font = max(self._across * self.width, down * self.height) // 28 + 1
        self._edge = _APART if self.layers > 1 else _EDGE
        self._label = self.font * 8 // 5 if labels else self._edge
        self.label_distance = self._label // 2
        """The distance from an edge to the middle of its labels."""
        self._top = self._label if self.layers > 1 else self._edge
        self.whole_width = self._across * (self._label + self.width + self._edge)
        self.whole_height = down * (self._top + self.height + self._label)
        self.corners = [self.corner(layer) for layer in range(self.layers)]

    def _area(self, used: list[int] | None) -> list[tuple[int, int]]:
        """Return the first column to draw and the number of columns, and the same for rows."""
        columns, rows = self._board_columns, self._board_rows
        if used is None or self.layers > 1 or max(columns, rows) <= _LARGEST_WHOLE:
            return [(0, columns), (0, rows)]
        used = used or [rows // 2 * columns + columns // 2]
        used_columns = [cell % columns for cell in used]
        used_rows = [cell // columns for cell in used]
        lengths = [max(indices) - min(indices) + 1 for indices in (used_columns, used_rows)]
        # Both axes have the same length if the board is large enough, so that the area is a square.
        length = max(_LEAST_CROPPED, *(used_length + 2 * _AROUND for used_length in lengths))
        return [_centred(used_columns, length, columns), _centred(used_rows, length, rows)]

    def corner(self, layer: int) -> tuple[int, int]:
        """Return the top left corner of a layer's cells."""
        down, across = divmod(layer, self._across)
        x = self._label + across * (self._label + self.width + self._edge)
        return x, self._top + down * (self._top + self.height + self._label)

    def layer(self, cell: int) -> int:
        """Return the layer of a cell."""
        return cell // (self._board_columns * self._board_rows)

    def column_and_row(self, cell: int) -> tuple[int, int]:
        """Return the column and the row of a cell, counted from the first drawn ones of its layer."""
        columns, rows = self._board_columns, self._board_rows
        return cell % columns - self._first_column, cell // columns % rows - self._first_row

    def centre(self, cell: int) -> tuple[int, int]:
        """Return the centre of a cell."""
        (x, y), (column, row) = self.corner(self.layer(cell)), self.column_and_row(cell)
        return x + column * CELL + HALF, y + row * CELL + HALF

    def grid(self, x: int, y: int, inset: int) -> str:
        """Return the path of the lines of the layer with this corner. `inset` is their distance from the edge.

        Lines of a board for stones go through the centres of the cells; without inset, they surround the cells. On a
        side on which the board is cropped, the lines reach the edge.
        """
        # Without inset, a line runs along both edges of the board.
        extra_lines = 0 if inset else 1
        left, above = (1 if start else inset for start in (self._first_column, self._first_row))
        right = inset if self._first_column + self.columns == self._board_columns else 1
        below = inset if self._first_row + self.rows == self._board_rows else 1
        wide, high = self.width - left - right, self.height - above - below
        down = (f"M{x + inset + column * CELL} {y + above}v{high}" for column in range(self.columns + extra_lines))
        across = (f"M{x + left} {y + inset + row * CELL}h{wide}" for row in range(self.rows + extra_lines))
        return "".join((*down, *across))

    def plate(self, x: int, y: int) -> str:
        """Return the path of the plate in front of a board with gravity: its edge, and a hole for each cell."""
        hole = "a16 16 0 1 0 32 0a16 16 0 1 0 -32 0z"
        holes = (
            f"M{x + column * CELL + 4} {y + row * CELL + HALF}{hole}"
            for row in range(self.rows)
            for column in range(self.columns)
        )
        return f"M{x} {y}h{self.width}v{self.height}h-{self.width}z" + "".join(holes)

    def axis_centres(self) -> tuple[str, str]:
        """Return the centres of all columns and of all rows, layer by layer, for scripts; `-` for those not drawn."""
        columns = (
            str(x + column * CELL + HALF) if 0 <= column < self.columns else "-"
            for x, _ in self.corners
            for column in range(-self._first_column, self._board_columns - self._first_column)
        )
        rows = (
            str(y + row * CELL + HALF) if 0 <= row < self.rows else "-"
            for _, y in self.corners
            for row in range(-self._first_row, self._board_rows - self._first_row)
        )
        return " ".join(columns), " ".join(rows)


def _centred(indices: list[int], length: int, whole: int) -> tuple[int, int]:
    """Return the first index and the length of the part of an axis to draw, with these indices in its centre.

    `whole` is the length of the axis, and the part is no longer.
    """
    length = min(length, whole)
    start = (min(indices) + max(indices) + 1 - length) // 2
    return max(0, min(whole - length, start)), length
