"""The cells that complete a line, which searches need for each set of stones. They are computed once for each."""

from collections.abc import Iterable

from noughts_referee.rules import Variant, members


class WinningCells:
    """The cells that complete a line, for sets of stones of one side.

    The results include cells on which no stone can be placed, because they are occupied or because of gravity. The
    caller ignores these.
    """

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self.spoiled_by: list[list[int]] = [[] for _ in range(variant.cells)]
        """For each cell, the lines that a stone there spoils for its owner."""
        for line, ends in variant.beside.items():
            for cell in members(ends):
                self.spoiled_by[cell].append(line)
        self._known: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def forget(self) -> None:
        self._known.clear()

    def of(self, stones: int) -> int:
        """Return the cells where one more stone completes a line of `stones`, as a set."""
        threats = self._known.get(stones)
        if threats is None:
            threats = self._known[stones] = self._completing(self._variant.lines, stones)
        return threats

    def after(self, stones: int, cell: int) -> int:
        """Return `of(stones | 1 << cell)`. It is computed from `of(stones)` and the lines that `cell` changes."""
        more = stones | 1 << cell
        threats = self._known.get(more)
        if threats is None:
            threats = self.of(stones) | self._completing(self._variant.lines_through[cell], more)
            for spoiled in self.spoiled_by[cell]:
                for lost in members(threats & spoiled):
                    # The new stone spoils one line through this cell. Another line can still win there.
                    if not self._variant.completes(more | 1 << lost, lost):
                        threats ^= 1 << lost
            self._known[more] = threats
        return threats

    def _completing(self, lines: Iterable[int], stones: int) -> int:
        beside = self._variant.beside
        cells = 0
        for line in lines:
            missing = line & ~stones
            misses_at_most_one = not missing & (missing - 1)
            if misses_at_most_one and not stones & beside.get(line, 0):
                cells |= missing
        return cells
