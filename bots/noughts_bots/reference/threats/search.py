"""Alpha-beta with a table of positions, for any variant that consists only of lines.

Sources: D. E. Knuth, R. W. Moore, "An Analysis of Alpha-Beta Pruning", 1975; the null window for all moves but the
first (principal variation search): T. A. Marsland, M. Campbell, "Parallel Search of Strongly Ordered Game Trees", 1982.
The key of a position is its two sets of stones, so different positions never share a key, in contrast to the hashed
keys of A. L. Zobrist, 1970.
"""

from noughts_bots.reference.threats.board import Board, Stones, missing_one, missing_three, missing_two
from noughts_bots.reference.threats.effort import Effort
from noughts_bots.reference.threats.fours import Attack, Fours
from noughts_referee.rules import members

WON = 1_000_000
"""The value of a win in n plies is WON - n, that of a loss -WON + n."""
CERTAIN = WON - 10_000
"""A larger value is a proven win, and a value below its negative a proven loss."""
INFINITY = WON + 1
_LIKELY_LOST = -100_000
"""The value, plus the static value, of a side whose answers to a threat all lose, if its own fours were not tried."""

EVERY_MOVE_CELLS = 36
"""Up to this many cells every move is searched; on larger boards only the most promising ones."""
_WIDTH = 14
"""The number of moves that are searched on larger boards, if they do not all lose."""
_MOST_TABLE_ENTRIES = 1 << 17
"""The table is cleared when it has this many positions."""
_LEAF_FOURS_NODES = 24
"""Positions of the search by fours at a leaf."""
_EXACT = 0
_AT_LEAST = 1
_AT_MOST = 2
_NO_CELL = -1
_FIRST_RATING = 1 << 20
"""Larger than all ratings of moves."""

Table = dict[tuple[int, int], tuple[int, int, int, int]]
"""For each position (own stones, other stones): depth, value, kind of value, best cell."""


class Search:
    """Searches on one board until the effort is spent."""

    def __init__(self, board: Board, effort: Effort, table: Table) -> None:
        self._board = board
        self._effort = effort
        self._table = table
        self._attack = Attack(board, effort)
        self._all_lines = (1 << len(board.lines)) - 1
        self._every_move = board.cells <= EVERY_MOVE_CELLS

    def value(self, own: Stones, other: Stones, depth: int, alpha: int, beta: int, ply: int = 0) -> int:
        """Return the value for `own`, which is to move, if it is between `alpha` and `beta`; else a bound.

        There must be no complete line. The distance of a proven result counts from the root, which is `ply` plies
        earlier. Raises EffortSpent.
        """
        self._effort.spend()
        board = self._board
        if missing_one(own, other):
            return WON - ply - 1
        danger = board.winning_cells(other, own)
        if danger:
            if danger.bit_count() > 1 or not board.legal(own, other, danger):
                return ply + 2 - WON
            forced = board.placed(own, danger.bit_length() - 1)
            return -self.value(other, forced, depth, -beta, -alpha, ply + 1)
        if own.touched & other.touched == self._all_lines:
            return 0
        fours = Fours(board, own, other)
        if fours.double_four_cells:
            return WON - ply - 3
        threats = Fours(board, other, own)
        if depth <= 0:
            return self._leaf(own, other, fours, threats, alpha, beta, ply)
        return self._inner(own, other, fours, threats, depth, alpha, beta, ply)

    def _leaf(self, own: Stones, other: Stones, fours: Fours, threats: Fours, alpha: int, beta: int, ply: int) -> int:
        if len(fours.pairs) > 1 and (stones := self._attack.by_fours(own, other, _LEAF_FOURS_NODES)):
            return WON - ply - 2 * len(stones) - 1
        static = static_value(own, other)
        if not threats.double_four_cells:
            return static
        # The other side threatens to make two fours, so the static value would be too good: try the answers.
        best = -INFINITY
        for cell in self.ordered(self._board.legal(own, other, threats.answers()), own, other):
            value = -self.value(other, self._board.placed(own, cell), 0, -beta, -max(alpha, best), ply + 1)
            best = max(best, value)
            if best >= beta:
                break
        # The side's own fours were not tried, so a loss is likely but not proven.
        return best if best > -CERTAIN else _LIKELY_LOST + static

    def _inner(
        self, own: Stones, other: Stones, fours: Fours, threats: Fours, depth: int, alpha: int, beta: int, ply: int
    ) -> int:
        key = (own.cells, other.cells)
        hint = _NO_CELL
        entry = self._table.get(key)
        if entry is not None:
            known_depth, value, kind, hint = entry
            value = _nearer(value, -ply)
            if (known_depth >= depth or abs(value) > CERTAIN) and (
                kind == _EXACT or (kind == _AT_LEAST and value >= beta) or (kind == _AT_MOST and value <= alpha)
            ):
                return value
        answers = 0
        if threats.double_four_cells:
            answers = threats.answers()
            moves = self.ordered(answers | fours.four_cells, own, other, hint)
            if not moves:
                return ply + 4 - WON
            width = len(moves)
            rest = 0
        else:
            near, rest = self.candidates(own, other)
            moves = self.ordered(near, own, other, hint)
            width = len(moves) if self._every_move else _WIDTH
        best = -INFINITY
        best_cell = _NO_CELL
        floor = alpha
        for number, cell in enumerate(moves):
            if number >= width and best > -CERTAIN:
                break
            is_answer = answers >> cell & 1
            # Answers to a threat do not reduce the depth.
            depth_after = depth if is_answer else depth - 1
            best, best_cell, floor = self._try(own, other, cell, depth_after, best, best_cell, floor, beta, ply)
            if best >= beta:
                break
        if best <= -CERTAIN and rest:
            # All near moves lose. A loss counts only if the other moves lose too.
            for cell in self.ordered(rest, own, other):
                best, best_cell, floor = self._try(own, other, cell, depth - 1, best, best_cell, floor, beta, ply)
                if best > -CERTAIN:
                    break
        if best >= beta:
            kind = _AT_LEAST
        elif best > alpha:
            kind = _EXACT
        else:
            kind = _AT_MOST
        if len(self._table) >= _MOST_TABLE_ENTRIES:
            self._table.clear()
        self._table[key] = (depth, _nearer(best, ply), kind, best_cell)
        return best

    def _try(
        self, own: Stones, other: Stones, cell: int, depth: int, best: int, best_cell: int, alpha: int, beta: int,
        ply: int,
    ) -> tuple[int, int, int]:  # fmt: skip
        """Search a move. Return the best value so far, its cell and the new alpha."""
        value = self.after(own, other, cell, depth, alpha, beta, ply, first=best_cell == _NO_CELL)
        if value > best:
            return value, cell, max(alpha, value)
        return best, best_cell, alpha

    def after(
        self, own: Stones, other: Stones, cell: int, depth: int, alpha: int, beta: int, ply: int, *, first: bool
    ) -> int:
        """Return the value of a stone on `cell` for its owner, if it is between alpha and beta; else a bound.

        Moves other than the first are first searched with a null window, which shows whether they exceed alpha. A
        forbidden stone loses.
        """
        if not self._board.legal(own, other, 1 << cell):
            return ply + 1 - WON
        placed = self._board.placed(own, cell)
        if not first:
            value = -self.value(other, placed, depth, -alpha - 1, -alpha, ply + 1)
            if not alpha < value < beta:
                return value
        return -self.value(other, placed, depth, -beta, -alpha, ply + 1)

    def candidates(self, own: Stones, other: Stones) -> tuple[int, int]:
        """Return the free cells to search, and the free cells to search if those all lose, as sets.

        On small boards the first set has all cells on lines that can still be completed, and the second is empty.
        """
        board = self._board
        occupied = own.cells | other.cells
        open_lines = self._all_lines & ~(own.touched & other.touched)
        if self._every_move:
            free = members(board.full & ~occupied)
            return sum(1 << cell for cell in free if board.through[cell] & open_lines), 0
        near = board.surroundings(occupied) & ~occupied
        return near, board.full & ~occupied & ~near

    def ordered(self, cells: int, own: Stones, other: Stones, hint: int = _NO_CELL) -> list[int]:
        """Return the cells of a set, the most promising first and `hint` before all others."""
        # The lines of both sides count alike, because a stone also takes the cell from the other side.
        two = missing_two(own, other) | missing_two(other, own)
        three = missing_three(own, other) | missing_three(other, own)
        open_lines = own.touched ^ other.touched
        free_lines = ~(own.touched | other.touched)
        through = self._board.through
        rated = []
        for cell in members(cells):
            lines = through[cell]
            rating = (
                32 * (lines & two).bit_count()
                + 10 * (lines & three).bit_count()
                + 2 * (lines & open_lines).bit_count()
                + (lines & free_lines).bit_count()
            )
            # Among equal cells the lowest comes first.
            rated.append((rating if cell != hint else _FIRST_RATING, -cell))
        rated.sort(reverse=True)
        return [-cell for _, cell in rated]


def static_value(own: Stones, other: Stones) -> int:
    """Return the static value for `own`, which is to move: the lines that can still be completed, with their weights.

    The weights depend on the number of missing stones, and not on the variant. The value is at most some thousands.
    """
    own_lines = own.touched & ~other.touched
    other_lines = other.touched & ~own.touched
    return (
        60 * (missing_two(own, other) & own_lines).bit_count()
        - 30 * (missing_two(other, own) & other_lines).bit_count()
        + 14 * (missing_three(own, other) & own_lines).bit_count()
        - 9 * (missing_three(other, own) & other_lines).bit_count()
        + own_lines.bit_count()
        - other_lines.bit_count()
    )


def _nearer(value: int, plies: int) -> int:
    """Return a proven result with its distance reduced by this number of `plies`; other values unchanged.

    Values in the table have the distance from their position, other values the distance from the root.
    """
    if value > CERTAIN:
        return value + plies
    return value - plies if value < -CERTAIN else value
