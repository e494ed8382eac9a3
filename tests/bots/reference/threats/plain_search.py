"""The rules read line by line, and a plain search: the tests of `threats` compare the bot with them."""

from noughts_referee.rules import Variant

WON = 1_000_000


def missing(line: int, own: int, other: int) -> int | None:
    """Return how many stones a line of its owner lacks; None if the other side holds a cell of it."""
    return None if line & other else (line & ~own).bit_count()


def completing_cells(variant: Variant, own: int, other: int) -> set[int]:
    """Return the free cells that complete a line of `own`."""
    free = [cell for cell in range(variant.cells) if not (own | other) >> cell & 1]
    return {cell for cell in free if variant.completes(own | 1 << cell, cell)}


class PlainNegamax:
    """The value of a position for the side to move: +-(1,000,000 - half-moves to the end of the game), or 0."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self._known: dict[tuple[int, int], int] = {}

    def value(self, own: int, other: int) -> int:
        """Return the value of a position without a complete line."""
        remembered = self._known.get((own, other))
        if remembered is not None:
            return remembered
        best = None
        for cell in self.variant.free_cells(own | other):
            value = self.after(own, other, cell)
            best = value if best is None else max(best, value)
        self._known[own, other] = best or 0
        return best or 0

    def after(self, own: int, other: int, cell: int) -> int:
        """Return the value of a stone on `cell` for its owner."""
        own |= 1 << cell
        if self.variant.completes(own, cell):
            return WON - 1
        value = -self.value(other, own)
        return value - (value > 0) + (value < 0)
