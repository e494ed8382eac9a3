"""`fives`: adds up the values of all windows of k cells for their empty cells, in any variant."""

from functools import cache

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation, best_of
from noughts_referee.rules import Position, Variant

_STEP = 100
"""The value of a window is a power of this: each pair of decimal digits in a priority counts windows of one kind.

A cell is in at most 60 windows on a 30x30 board, so windows of small value never add up to one of the next value.
"""
_NEIGHBOUR = 1

_FROM_EDGE = 5
"""The number of cells between the first stone and the edges."""

_LARGEST_CACHED_BOARD = 12
"""Positions of larger boards are not cached: they rarely recur, and evaluating them costs less than the memory."""


class Fives(CachingBot):
    """Plays a cell with the highest priority, chosen at random among equals, without looking ahead.

    A window is k cells that win together; the article's k is 5. If a window holds two to k-1 stones of one colour and
    is otherwise empty, it adds to the priority of each of its empty cells: two of the opponent's stones add 100, two
    own stones 100**2, three of the opponent's 100**3, three own 100**4 and so on, up to k-1. So the bot first wins,
    then blocks the opponent's win, then extends its own k-2 stones. Among cells with the same largest window, the
    number of such windows counts. (If k is 2, a single stone counts.) A cell with any neighbours, in eight directions,
    has 1 more.

    On boards that the article does not cover: a cube has 26 directions. With gravity only cells count where a stone
    comes to rest; cells that become playable above it do not matter. Spoiled and blocked windows add nothing.

    The first stone goes to a random cell with at least five other cells between it and every edge. If the board has 10
    cells or fewer in a direction, the middle cell or the two middle cells of that direction are used.

    Source: article 004, which ranks the first three windows and leaves the weights open. Its main text counts windows
    of two stones and more; windows of one, mentioned in its first example, add nothing here.
    """

    name = "fives"
    boards = "every variant whose lines have the same length"
    heeds_forbidden_moves = True

    def __init__(self) -> None:
        super().__init__()
        self._board = cache(_Board)

    def plays(self, variant: Variant) -> bool:
        return len(set(map(len, variant.line_cells))) == 1

    def consider(self, position: Position) -> Evaluation:
        return (
            super().consider(position) if position.variant.cells <= _LARGEST_CACHED_BOARD else self.work_out(position)
        )

    def work_out(self, position: Position) -> Evaluation:
        board = self._board(position.variant)
        priorities = board.priorities(position.own, position.opponent, position.free)
        if not position.own | position.opponent:
            openings = tuple(cell for cell in board.openings if cell in priorities)
            return Evaluation(openings or position.free, scores=priorities)
        return best_of(priorities)


class _Board:
    """The windows of a variant and their values."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        ends = (variant.beside.get(line, 0) for line in variant.lines)
        blockable_ends = (variant.blocked_ends.get(line, 0) for line in variant.lines)
        # For each window: its cells as a set, the cells that spoil it, those that block it, and its cells as a list.
        self._windows = tuple(zip(variant.lines, ends, blockable_ends, variant.line_cells, strict=True))
        length = len(variant.line_cells[0])
        fewest = min(2, length - 1)
        # The value of a window with stones of one side only, by their number.
        self._own_values = [0] * (length + 1)
        self._opponent_values = [0] * (length + 1)
        for stones in range(max(1, fewest), length):
            self._opponent_values[stones] = _STEP ** (2 * (stones - fewest) + 1)
            self._own_values[stones] = _STEP ** (2 * (stones - fewest) + 2)
        first_column = sum(1 << cell for cell in range(0, variant.cells, variant.columns))
        self._not_first_column = variant.full & ~first_column
        layer = (1 << variant.columns * variant.rows) - 1
        self._layers = tuple(layer << start for start in range(0, variant.cells, variant.columns * variant.rows))
        self.openings = _openings(variant)

    def priorities(self, own: int, opponent: int, free: tuple[int, ...]) -> dict[int, int]:
        """Return the priority of each of the cells `free` for the side to move, which has the stones `own`."""
        sums = [0] * self._variant.cells
        for window, ends, blockable_ends, cells in self._windows:
            own_stones = window & own
            if own_stones:
                value = 0 if window & opponent or ends & own else self._own_values[own_stones.bit_count()]
                blockers = opponent
            else:
                value = 0 if ends & opponent else self._opponent_values[(window & opponent).bit_count()]
                blockers = own
            if not value:
                continue
            # Stones of the other side at all ends block a window.
            is_blocked = blockable_ends and not blockable_ends & ~blockers
            if not is_blocked:
                # This includes occupied cells: their sums are unused, and skipping them would take longer.
                for cell in cells:
                    sums[cell] += value
        near = self._near(own | opponent)
        return {cell: sums[cell] + _NEIGHBOUR * (near >> cell & 1) for cell in free}

    def _near(self, stones: int) -> int:
        """Return the stones and all their neighbours, also diagonal ones, as a set."""
        right = (stones << 1) & self._not_first_column
        left = (stones & self._not_first_column) >> 1
        beside = stones | left | right
        if len(self._layers) == 1:
            return self._with_rows(beside)
        # Each layer by itself, because the last row of a layer is not next to the first row of the next one.
        near = 0
        for layer in self._layers:
            near |= self._with_rows(beside & layer) & layer
        size = self._variant.columns * self._variant.rows
        return near | near << size | near >> size

    def _with_rows(self, cells: int) -> int:
        return cells | cells << self._variant.columns | cells >> self._variant.columns


def _openings(variant: Variant) -> tuple[int, ...]:
    """Return the free cells of the empty board that are far from all edges. With gravity the row is fixed."""
    rows = range(variant.rows) if variant.gravity else _inner(variant.rows)
    inner = {
        (layer * variant.rows + row) * variant.columns + column
        for layer in _inner(variant.layers)
        for row in rows
        for column in _inner(variant.columns)
    }
    free = variant.free_cells(0)
    return tuple(cell for cell in free if cell in inner) or free


def _inner(size: int) -> range:
    """Return the columns, rows or layers that are far from both edges, or the middle one or two of a small board."""
    margin = min(_FROM_EDGE, (size - 1) // 2)
    return range(margin, size - margin)
