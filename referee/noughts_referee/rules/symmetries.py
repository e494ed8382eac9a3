"""The symmetries of a board: permutations of its cells that preserve the game."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import permutations, product

from noughts_referee.rules.variant import Variant, members


@lru_cache(maxsize=8)
def symmetries(variant: Variant) -> tuple[tuple[int, ...], ...]:
    """Return each symmetry as the image of every cell; the first is the identity.

    A flat square board has 8, an oblong one 4, one with gravity 2, a cube 48. They are found by trial: of all
    permutations and reflections of the axes, those that map lines to lines and keep what is below a cell below it.
    """
    lines = set(variant.lines)
    images = [
        image
        for image in _turned(variant)
        if {_moved(line, image) for line in variant.line_cells} == lines
        and all(
            _moved(members(below), image) == variant.supports[image[cell]]
            for cell, below in enumerate(variant.supports)
            if below
        )
    ]
    return tuple(dict.fromkeys(images))


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


def _moved(cells: Iterable[int], image: tuple[int, ...]) -> int:
    return sum(1 << image[cell] for cell in cells)
