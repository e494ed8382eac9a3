"""A search to the end of the game for four in a row with gravity: it tests whether the side to move reaches a score.

Source of the search, and of its board of columns with a free row on top: P. Pons, "Solving Connect 4: how to build a
perfect AI", 2015.
"""

from noughts_bots.reference.columns.opening_book import BOOK_STONES, OpeningBook
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Variant, members


class ColumnBoard:
    """The board of the searches: a cell is bit `column * (rows + 1) + height`. The bit above each column stays free."""

    def __init__(self, variant: Variant) -> None:
        self.columns = variant.columns
        self.rows = variant.rows
        self.cells = variant.cells
        self._bits = [
            1 << column * (self.rows + 1) + self.rows - 1 - row
            for row in range(self.rows)
            for column in range(self.columns)
        ]
        """The bit of each of the variant's cells, which are counted from the top row."""

    def stones(self, cells: int) -> int:
        """Return a set of the variant's cells as bits of columns."""
        return sum(self._bits[cell] for cell in members(cells))


class ColumnSearch:
    """The search in Python. It remembers each position that it has searched.

    Each position costs 1 of `effort`. The search raises EffortSpent if that is spent.
    """

    def __init__(self, variant: Variant, effort: Effort, book: OpeningBook | None = None) -> None:
        board = ColumnBoard(variant)
        self.effort = effort
        self._to_columns = board.stones
        self._cells = board.cells
        self._book = book
        height = board.rows + 1
        self._bottom = sum(1 << column * height for column in range(board.columns))
        self._board = self._bottom * ((1 << board.rows) - 1)
        middle_first = sorted(range(board.columns), key=lambda column: abs(2 * column - board.columns + 1))
        self._columns = [((1 << board.rows) - 1) << column * height for column in middle_first]
        self._steps = (height - 1, height, height + 1)
        self._known: dict[int, tuple[int, int]] = {}
        """By position: the least and the greatest score that the side to move can have, as far as they are known."""

    def forget(self) -> None:
        """Forget all positions."""
        self._known.clear()

    def reaches(self, score: int, own: int, other: int) -> bool:
        """Return whether the side to move, which has the stones `own`, gets at least `score` (see `FullSearch`)."""
        own_bits = self._to_columns(own)
        occupied_bits = own_bits | self._to_columns(other)
        free = self._cells - occupied_bits.bit_count()
        # Adding the bottom row carries past the stones of each column, to its lowest free cell.
        playable = (occupied_bits + self._bottom) & self._board
        if self._winning(own_bits) & playable:
            return score <= free
        return self._reaches(
            score, own_bits, occupied_bits, self._winning(occupied_bits ^ own_bits) & ~occupied_bits, free
        )

    def _reaches(self, score: int, own_bits: int, occupied_bits: int, danger: int, free: int) -> bool:
        """Return the same if the side to move cannot win at once.

        Args:
            danger: the free cells where the other side completes a line.
            free: the number of free cells.
        """
        if score > max(free - 2, 0) or score <= 1 - free:
            return score <= 1 - free
        moves = (occupied_bits + self._bottom) & self._board
        if forced := moves & danger:
            # Only one of two threats can be blocked.
            moves = forced if forced.bit_count() == 1 else 0
        # A stone directly below a cell where the other side wins would lose.
        moves &= ~(danger >> 1)
        if not moves or free <= 2:
            return moves != 0 and score <= 0
        # Adding the bottom row to the occupied cells sets one bit above the stones of each column. So this sum
        # identifies the stones of both sides.
        key = occupied_bits + self._bottom + own_bits
        bounds = self._known.get(key)
        if bounds is None and self._book and self._cells - free == BOOK_STONES:
            bounds = self._book.bounds(own_bits, occupied_bits)
        least, most = bounds or (1 - free, free)
        if score <= least or score > most:
            return score <= least
        self.effort.spend()
        replies: list[tuple[int, int, int, int]] = []
        for column in self._columns:
            if move := moves & column:
                threats = self._winning(own_bits | move) & ~(occupied_bits | move)
                replies.append((-threats.bit_count(), len(replies), occupied_bits | move, threats))
        for _, _, occupied, threats in sorted(replies):
            if not self._reaches(1 - score, occupied_bits ^ own_bits, occupied, threats, free - 1):
                self._known[key] = (score, most)
                return True
        self._known[key] = (least, score - 1)
        return False

    def _winning(self, stones: int) -> int:
        """Return the cells, free or occupied, that complete a line of these stones."""
        # Vertical lines are completed only from above.
        cells = stones << 1 & stones << 2 & stones << 3
        # In each other direction, the missing stone can be at either end or at one of the two places between.
        for step in self._steps:
            pair = stones << step & stones << 2 * step
            cells |= pair & (stones << 3 * step | stones >> step)
            pair = stones >> step & stones >> 2 * step
            cells |= pair & (stones << step | stones >> 3 * step)
        return cells & self._board
