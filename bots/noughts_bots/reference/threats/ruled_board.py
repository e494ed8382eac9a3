"""The board for variants in which a complete line does not always count: exactly five, renju and caro.

A spoiled line (a stone next to it would make six) is counted as missing sixteen more stones. A line blocked by the
other side at both ends is counted as holding a stone of that side. So a search without these rules finds only lines
that win. In renju Black's lines are spoiled, because Black must not make six, and White's are not.

Two rules are not covered: in caro a line blocked at one end can also be answered at its other end, and in renju a stone
of White can forbid Black a cell. There, attacks are likely to win but not certain.
"""

from noughts_bots.reference.threats.board import Board, Stones
from noughts_referee.rules import Board as Geometry
from noughts_referee.rules import Variant, base_name, members

_new = tuple.__new__


class RuledBoard(Board):
    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        second = variant.beside
        renju = base_name(variant.name).startswith("renju")
        first = Geometry(variant.columns, variant.rows).ends(5) if renju else second
        numbers = {line: 1 << number for number, line in enumerate(variant.lines)}
        self._spoils: tuple[list[int], list[int]] = ([0] * variant.cells, [0] * variant.cells)
        """For each side and cell, the lines that a stone there spoils."""
        for spoils, beside in zip(self._spoils, (first, second), strict=True):
            for line, ends in beside.items():
                for cell in members(ends):
                    spoils[cell] |= numbers[line]
        self._shuts: list[list[tuple[int, int]]] = [[] for _ in range(variant.cells)]
        """For each cell, the lines whose end it is: the other end, and the line."""
        for line, ends in variant.blocked_ends.items():
            for cell in members(ends):
                self._shuts[cell].append((ends ^ 1 << cell, numbers[line]))

    def placed(self, stones: Stones, cell: int) -> Stones:
        cells, touched, ones, twos, fours, eights, sixteens, side = super().placed(stones, cell)
        for other_end, line in self._shuts[cell]:
            if cells & other_end:
                touched |= line
        return _new(Stones, (cells, touched, ones, twos, fours, eights, sixteens | self._spoils[side][cell], side))
