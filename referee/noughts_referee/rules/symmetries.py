"""The symmetries of a board: permutations of its cells that preserve the game."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import permutations, product

from noughts_referee.rules.variant import Variant, members


@lru_cache(maxsize=8)
def symmetries(variant: Variant) -> tuple[tuple[int, ...], ...]:
    """Return each symmetry as the image of every cell; the first is the identity.

    A flat square board has 8, an oblong board 4, a board with gravity 2, a cube 48. The function tries all permutations
    and reflections of the axes, and keeps those that map lines to lines and supports to supports.
    """
    lines = set(variant.lines)
    images = [
        image
        for image in _axis_images(variant)
        if {_moved(line, image) for line in variant.line_cells} == lines
        and all(
            _moved(members(below), image) == variant.supports[image[cell]]
            for cell, below in enumerate(variant.supports)
            if below
        )
    ]
    return tuple(dict.fromkeys(images))


def _axis_images(variant: Variant) -> Iterator[tuple[int, ...]]:
    """Yield the image of every cell for each permutation and reflection of the axes that keeps the sizes."""
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
