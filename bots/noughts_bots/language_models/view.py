"""How a model sees a board: the name of each cell, the marks of the two sides, and where each cell is drawn."""

from dataclasses import dataclass
from itertools import product

from noughts_referee.rules import Variant, column_name


@dataclass(frozen=True, slots=True)
class View:
    """Cells are drawn row by row, layer by layer."""

    variant: Variant
    drawn: tuple[int, ...]
    """The cell at each place of the drawing."""
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    marks: tuple[str, str] = ("X", "O")

    @property
    def names(self) -> dict[int, str]:
        """Return the name of each cell: column and row, with the number of its layer first if there are several."""
        layers = [str(layer + 1) if self.variant.layers > 1 else "" for layer in range(self.variant.layers)]
        places = product(layers, self.rows, self.columns)
        return {cell: layer + column + row for cell, (layer, row, column) in zip(self.drawn, places, strict=True)}


def view_of(variant: Variant) -> View:
    """Return the view with the names of cells that Noughts uses everywhere: `h8`, or `2b3` in the second layer."""
    columns = tuple(map(column_name, range(variant.columns)))
    return View(variant, tuple(range(variant.cells)), columns, tuple(map(str, range(variant.rows, 0, -1))))
