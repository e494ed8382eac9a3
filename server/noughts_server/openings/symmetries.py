"""The symmetries of a board: how its cells can change places without anything becoming different."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations, product

from noughts_referee.rules import Variant

_MOST_KEPT = 8


@lru_cache(maxsize=_MOST_KEPT)
def symmetries(variant: Variant) -> tuple[tuple[int, ...], ...]:
    """Each symmetry as the cell that takes the place of each cell; the first leaves all where it is.

    A flat square board has 8, an oblong one 4, one with gravity 2, a cube 48. Found by trying: of the ways to swap and
    to turn round the axes of the board those remain under which lines stay lines and what is below stays below.
    """
    lines = set(variant.lines)
    found = [
        image
        for image in _turned(variant)
        if {_moved(line, image) for line in variant.line_cells} == lines
        and all(
            _moved(_cells(below), image) == variant.supports[image[cell]]
            for cell, below in enumerate(variant.supports)
            if below
        )
    ]
    return tuple(dict.fromkeys(found))


def _turned(variant: Variant) -> Iterator[tuple[int, ...]]:
    sizes = (variant.layers, variant.rows, variant.columns)
    cells = list(product(*map(range, sizes)))
    for axes in permutations(range(3)):
        if tuple(sizes[axis] for axis in axes) != sizes:
            continue
        for flips in product((False, True), repeat=3):
            image = []
            for place in cells:
                layer, row, column = (
                    size - 1 - place[axis] if flip else place[axis]
                    for axis, flip, size in zip(axes, flips, sizes, strict=True)
                )
                image.append((layer * variant.rows + row) * variant.columns + column)
            yield tuple(image)


def _moved(cells: tuple[int, ...], image: tuple[int, ...]) -> int:
    return sum(1 << image[cell] for cell in cells)


def _cells(cells: int) -> tuple[int, ...]:
    return tuple(cell for cell in range(cells.bit_length()) if cells >> cell & 1)
