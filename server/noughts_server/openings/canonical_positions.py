"""Positions up to the symmetries of the board."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from struct import Struct

from noughts_referee.rules import Variant, symmetries


class CanonicalPositions:
    """Numbers the positions of a variant. Symmetric positions have the same number, in every process.

    A position's hash is Zobrist's: the exclusive or of a fixed random number for each stone. The number is the smallest
    hash of all symmetric boards (64 bits, signed), and the board that has it is the canonical one.
    """

    def __init__(self, variant: Variant) -> None:
        self._images = images = symmetries(variant)
        # The hashes of all boards together are one integer, so that a stone costs one operation.
        self._unpack = Struct(f"<{len(images)}q").unpack
        self._size = 8 * len(images)
        cells = range(variant.cells)
        keys = [[blake2b(f"{side} {cell}".encode(), digest_size=8).digest() for cell in cells] for side in (0, 1)]
        self._stones = [
            [int.from_bytes(b"".join(key[image[cell]] for image in images), "little") for cell in cells] for key in keys
        ]

    def after(self, moves: Iterable[int]) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
        """Yield the number of the empty board, then the number of the position after each move.

        Each number comes with the images of the cells on the canonical board: several if the position is symmetric.
        """
        packed = 0
        # None stands for the end: the position after the last move.
        for ply, cell in enumerate((*moves, None)):
            hashes = self._unpack(packed.to_bytes(self._size, "little"))
            number = min(hashes)
            yield (
                number,
                [image for image_hash, image in zip(hashes, self._images, strict=True) if image_hash == number],
            )
            if cell is not None:
                packed ^= self._stones[ply & 1][cell]


canonical_positions = lru_cache(maxsize=8)(CanonicalPositions)
