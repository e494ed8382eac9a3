"""The view of a board for a model: the name of each cell, the marks of the two sides, and the place of each cell."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from noughts_referee.rules import MOST_COLUMNS, Draws, Variant, column_name, symmetries

_RANDOM_MARKS = "ABCDEFGHJKLMNPQRSTUVWYZ"
"""Letters without the usual marks, X and O, and without I, which looks like 1."""
_RANDOM_ROWS = 60
"""The number of rows from which random names are taken, unless the board has more rows."""


@dataclass(frozen=True, slots=True)
class View:
    """The names, marks and places of the cells. The drawing shows them row by row and layer by layer."""

    variant: Variant
    drawn: tuple[int, ...]
    """The cell at each place of the drawing."""
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    marks: tuple[str, str] = ("X", "O")
    is_scrambled: bool = False

    @property
    def names(self) -> dict[int, str]:
        """Return the name of each cell: column and row, with the number of its layer first if there are several."""
        layers = [str(layer + 1) if self.variant.layers > 1 else "" for layer in range(self.variant.layers)]
        places = product(layers, self.rows, self.columns)
        return {cell: layer + column + row for cell, (layer, row, column) in zip(self.drawn, places, strict=True)}


def view_of(variant: Variant, seed: int, *, scrambled: bool) -> View:
    """Return the view of a game. Unless it is scrambled, cells have their usual names.

    A scrambled board is turned or mirrored by a symmetry of the variant, and has random names and marks. All of this
    follows from `seed`, the seed of the model's side.
    """
    if not scrambled:
        columns = tuple(map(column_name, range(variant.columns)))
        return View(variant, tuple(range(variant.cells)), columns, tuple(map(str, range(variant.rows, 0, -1))))
    # No question has this ply, so these random numbers differ from those of the player's moves.
    rng = Draws(seed, variant.cells)

    def random_names(names: Iterable[str], count: int) -> tuple[str, ...]:
        return tuple(sorted(names, key=lambda _: rng.bits())[:count])

    columns = random_names(map(column_name, range(MOST_COLUMNS)), variant.columns)
    rows = random_names(map(str, range(1, max(_RANDOM_ROWS, variant.rows) + 1)), variant.rows)
    first, second = random_names(_RANDOM_MARKS, 2)
    return View(variant, rng.choice(symmetries(variant)), columns, rows, (first, second), is_scrambled=True)
