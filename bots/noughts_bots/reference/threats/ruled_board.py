"""The board where a complete line may count for nothing: exactly five, renju and caro.

A line that its owner has spoiled (a stone beside it would make six) is taken to miss sixteen stones more, and one that
the other side has shut (its stones at both ends) to hold one of that side's. So a search that knows of neither finds
only lines that win. Black's in renju are spoiled likewise, since he may not make six; White's are not.

What is not known there: in caro a line that is shut at one end can be answered at its other end, too, and in renju a
stone of White's may forbid Black a cell. So there attacks are likely to win rather than certain.
"""

from noughts_bots.reference.threats.board import Board, Stones
from noughts_referee.rules import Board as Geometry
from noughts_referee.rules import Variant, base_name, members

_new = tuple.__new__


class RuledBoard(Board):
    """The tables of such a variant."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        second = variant.beside
        renju = base_name(variant.name).startswith("renju")
        first = Geometry(variant.columns, variant.rows).ends(5) if renju else second
        numbers = {line: 1 << number for number, line in enumerate(variant.lines)}
        self._spoils: tuple[list[int], list[int]] = ([0] * variant.cells, [0] * variant.cells)
        """For each side and cell the lines that a stone there spoils."""
        for spoils, beside in zip(self._spoils, (first, second), strict=True):
            for line, ends in beside.items():
                for cell in members(ends):
                    spoils[cell] |= numbers[line]
        self._shuts: list[list[tuple[int, int]]] = [[] for _ in range(variant.cells)]
        """For each cell the lines at whose end it lies: the other end, and the line."""
        for line, ends in variant.blocked_ends.items():
            for cell in members(ends):
                self._shuts[cell].append((ends ^ 1 << cell, numbers[line]))

    def placed(self, stones: Stones, cell: int) -> Stones:
        cells, touched, ones, twos, fours, eights, sixteens, side = super().placed(stones, cell)
        for other_end, line in self._shuts[cell]:
            if cells & other_end:
                touched |= line
        return _new(Stones, (cells, touched, ones, twos, fours, eights, sixteens | self._spoils[side][cell], side))
