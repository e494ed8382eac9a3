"""The symmetries of a board (permutations of its cells that preserve the game), and positions up to them."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import permutations, product
from struct import Struct

from noughts_referee.rules import Variant, members

_MOST_KEPT = 8


@lru_cache(maxsize=_MOST_KEPT)
def symmetries(variant: Variant) -> tuple[tuple[int, ...], ...]:
    """Return each symmetry as the image of every cell; the first is the identity.

    A flat square board has 8, an oblong one 4, one with gravity 2, a cube 48. They are found by trial: of all
    permutations and reflections of the axes, those that map lines to lines and keep what is below a cell below it.
    """
    lines = set(variant.lines)
    found = [
        image
        for image in _turned(variant)
        if {_moved(line, image) for line in variant.line_cells} == lines
        and all(
            _moved(members(below), image) == variant.supports[image[cell]]
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


def _moved(cells: Iterable[int], image: tuple[int, ...]) -> int:
    return sum(1 << image[cell] for cell in cells)


class CanonicalPositions:
    """The positions of a variant, of which symmetric ones have one number, the same in every process.

    A position's hash is Zobrist's: the exclusive or of a fixed random number for each stone. The number is the smallest
    hash of all symmetric boards (64 bits, signed), and the board that has it is the canonical one.
    """

    def __init__(self, variant: Variant) -> None:
        self._images = images = symmetries(variant)
        # The hashes of all boards together are one integer, so that a stone costs one operation.
        self._unpack, self._size = Struct(f"<{len(images)}q").unpack, 8 * len(images)
        cells = range(variant.cells)
        keys = [[blake2b(f"{side} {cell}".encode(), digest_size=8).digest() for cell in cells] for side in (0, 1)]
        self._stones = [
            [int.from_bytes(b"".join(key[image[cell]] for image in images), "little") for cell in cells] for key in keys
        ]

    def after(self, moves: Iterable[int]) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
        """Yield the number of the empty board, then of the position after each move.

        With it come the images of the cells on the canonical board: several if the position itself is symmetric.
        """
        packed = 0
        for ply, cell in enumerate((*moves, None)):
            hashes = self._unpack(packed.to_bytes(self._size, "little"))
            number = min(hashes)
            yield number, [image for each, image in zip(hashes, self._images, strict=True) if each == number]
            if cell is not None:
                packed ^= self._stones[ply & 1][cell]


canonical_positions = lru_cache(maxsize=_MOST_KEPT)(CanonicalPositions)
