"""The number of stones that each line still misses, computed for all lines at once.

Here a line is a bit of an integer. The number of stones that a line misses is binary, and each binary digit of all
lines together is an integer ("bit slices"). A stone subtracts one from the number of every line through its cell: one
subtraction with borrow on these integers. So a stone costs about the same time on every board. The integers never
change, so a search undoes nothing.
"""

from typing import NamedTuple

from noughts_referee.rules import Board as Geometry
from noughts_referee.rules import Variant, base_name, members


class Stones(NamedTuple):
    """The stones of one side, and their effect on every line."""

    cells: int
    """The cells with stones, as a set."""
    touched: int
    """The lines with at least one of these stones, which the other side cannot complete."""
    ones: int
    """The lines whose number of missing stones has this binary digit. The number is at most 30."""
    twos: int
    fours: int
    eights: int
    sixteens: int
    side: int = 0
    """The owner: 0 moved first, 1 second."""


_new = tuple.__new__  # faster than the constructor


class Board:
    """The lines of a variant, and the effect of stones on them."""

    def __init__(self, variant: Variant) -> None:
        self.cells = variant.cells
        self.full = variant.full
        self.lines = variant.lines
        self.bits = tuple(1 << number for number in range(len(variant.lines)))
        self.bit_of = dict(zip(variant.lines, self.bits, strict=True))
        self.through = tuple(sum(map(self.bit_of.__getitem__, lines)) for lines in variant.lines_through)
        self.near = _nearby(variant)
        """For each cell, the cells at most two places away on a line."""
        lengths = [line.bit_count() for line in variant.lines]
        digits = (sum(1 << n for n, length in enumerate(lengths) if length >> digit & 1) for digit in range(5))
        self.no_stones = Stones(0, 0, *digits)
        self.forbids = variant.forbids

    def stones(self, cells: int, side: int = 0) -> Stones:
        """Return a side's stones on this set of cells."""
        stones = self.no_stones._replace(side=side)
        for cell in members(cells):
            stones = self.placed(stones, cell)
        return stones

    def placed(self, stones: Stones, cell: int) -> Stones:
        """Return the stones with one more stone on `cell`, which must be free."""
        cells, touched, ones, twos, fours, eights, sixteens, side = stones
        borrow = self.through[cell]
        touched |= borrow
        ones ^= borrow
        borrow &= ones
        twos ^= borrow
        borrow &= twos
        if borrow:
            fours ^= borrow
            borrow &= fours
            if borrow:
                eights ^= borrow
                sixteens ^= borrow & eights
        # Not `Stones(...)`, because its constructor takes as long as all of the above.
        return _new(Stones, (cells | 1 << cell, touched, ones, twos, fours, eights, sixteens, side))

    def legal(self, own: Stones, other: Stones, cells: int) -> int:
        """Return those of the free cells that `own` can play, as a set."""
        forbids = self.forbids
        if forbids is None:
            return cells
        return sum(1 << cell for cell in members(cells) if forbids(own.cells, other.cells, cell, own.side) is None)

    def gaps(self, lines: int, stones: Stones) -> int:
        """Return the cells of these lines without a stone of this side, as a set."""
        cells = 0
        all_lines = self.lines
        bits = self.bits
        while lines:
            number = lines.bit_length() - 1
            lines ^= bits[number]
            cells |= all_lines[number]
        return cells & ~stones.cells

    def winning_cells(self, own: Stones, other: Stones) -> int:
        """Return the cells that complete a line of `own`, as a set."""
        return self.gaps(missing_one(own, other), own)

    def surroundings(self, cells: int) -> int:
        """Return the cells that are at most two places from one of `cells` on a line, as a set."""
        near = 0
        for cell in members(cells):
            near |= self.near[cell]
        return near


class RuledBoard(Board):
    """The board for variants in which a complete line does not always count: exactly five, renju and caro.

    A spoiled line (with an own stone next to it, which would make six) counts as missing sixteen more stones. A line
    that the other side blocks at both ends counts as a line with a stone of that side. So the search, which does not
    know these rules, finds only lines that win. In renju only Black's lines can be spoiled, because White may make six.

    Two rules are not covered: in caro a line blocked at one end can also be answered at its other end, and in renju a
    stone of White can forbid Black a cell. There, attacks are likely to win but not certain.
    """

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        # The cells next to each line that spoil it for the second and the first side.
        second = variant.beside
        renju = base_name(variant.name).startswith("renju")
        first = Geometry(variant.columns, variant.rows).ends(5) if renju else second
        self._spoils: tuple[list[int], list[int]] = ([0] * variant.cells, [0] * variant.cells)
        """For each side and cell, the lines that a stone there spoils."""
        for spoils, beside in zip(self._spoils, (first, second), strict=True):
            for line, ends in beside.items():
                for cell in members(ends):
                    spoils[cell] |= self.bit_of[line]
        self._opposite_ends: list[list[tuple[int, int]]] = [[] for _ in range(variant.cells)]
        """For each cell, the lines whose end it is: the other end, and the line."""
        for line, ends in variant.blocked_ends.items():
            for cell in members(ends):
                self._opposite_ends[cell].append((ends ^ 1 << cell, self.bit_of[line]))

    def placed(self, stones: Stones, cell: int) -> Stones:
        cells, touched, ones, twos, fours, eights, sixteens, side = super().placed(stones, cell)
        for other_end, line in self._opposite_ends[cell]:
            if cells & other_end:
                touched |= line
        return _new(Stones, (cells, touched, ones, twos, fours, eights, sixteens | self._spoils[side][cell], side))


def missing_one(own: Stones, other: Stones) -> int:
    """Return the lines that one more stone completes, as a set."""
    _, _, ones, twos, fours, eights, sixteens, _ = own
    return ones & ~(twos | fours | eights | sixteens | other.touched)


def missing_two(own: Stones, other: Stones) -> int:
    """Return the lines that miss two stones and hold none of the other side."""
    _, _, ones, twos, fours, eights, sixteens, _ = own
    return twos & ~(ones | fours | eights | sixteens | other.touched)


def missing_three(own: Stones, other: Stones) -> int:
    """Return the lines that miss three stones and hold none of the other side."""
    _, _, ones, twos, fours, eights, sixteens, _ = own
    return ones & twos & ~(fours | eights | sixteens | other.touched)


def _nearby(variant: Variant) -> tuple[int, ...]:
    """Return for each cell the cells at most two places away on a line."""
    near = [0] * variant.cells
    for line in variant.line_cells:
        for place, cell in enumerate(line):
            for other in line[max(0, place - 2) : place + 3]:
                near[cell] |= 1 << other
    return tuple(near)
