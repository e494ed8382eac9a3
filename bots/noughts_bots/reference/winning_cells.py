"""Which cells complete a line: the main input of a search, computed once for each set of stones."""

from collections.abc import Iterable

from noughts_referee.rules import Variant, members


class Threats:
    """For sets of stones of one side, the cells that complete a line.

    Ignore cells where no stone can be placed: either side can have taken them since, or gravity does not allow them
    yet.
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
        """Return the cells that each complete a line of `stones`, as a set."""
        threats = self._known.get(stones)
        if threats is None:
            threats = self._known[stones] = self._completing(self._variant.lines, stones)
        return threats

    def after(self, stones: int, cell: int) -> int:
        """Return `of(stones | 1 << cell)`, computed only from the lines to which `cell` matters."""
        more = stones | 1 << cell
        threats = self._known.get(more)
        if threats is None:
            threats = self.of(stones) | self._completing(self._variant.lines_through[cell], more)
            for spoiled in self.spoiled_by[cell]:
                for lost in members(threats & spoiled):
                    # One line through it is now spoiled; there can be another.
                    if not self._variant.completes(more | 1 << lost, lost):
                        threats ^= 1 << lost
            self._known[more] = threats
        return threats

    def _completing(self, lines: Iterable[int], stones: int) -> int:
        beside = self._variant.beside
        cells = 0
        for line in lines:
            missing = line & ~stones
            if not missing & (missing - 1) and not stones & beside.get(line, 0):
                cells |= missing
        return cells
