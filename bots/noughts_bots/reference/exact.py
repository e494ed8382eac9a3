"""The exact value of a position: a search to the end of the game, for boards with few free cells.

`FullSearch` has the scores. Games of columns have a faster search of the same scores. Source of that search, and of its
board of columns with a free row on top: P. Pons, "Solving Connect 4: how to build a perfect AI", 2015.
"""

from typing import NamedTuple

from noughts_bots.reference.minimax import FullSearch
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Board, Position, Variant, members

MOST_FREE_CELLS = 28  # of a position that can be solved


class Verdict(NamedTuple):
    """The value of a position for the side to move."""

    result: int | None  # 1 win, 0 draw, -1 loss; None: unknown
    plies: int | None  # half-moves until a win or loss if both sides play best; at most so many if not exact
    best: tuple[int, ...]  # the moves that keep the result, and win soonest or lose latest; if not exact, one move
    exact: bool = True


def can_solve(position: Position) -> bool:
    """Return whether a solver can be used: few cells are free, and no moves are forbidden and no lines blocked."""
    variant = position.variant
    return variant.cells - position.ply <= MOST_FREE_CELLS and not (variant.forbids or variant.blocked_ends)


class Solver:
    """Solves positions of a variant in which the game is not over, see `can_solve`.

    It remembers what it has searched. Each method raises Spent if the effort is spent.
    """

    def __init__(self, variant: Variant, effort: Effort) -> None:
        board = Board(variant.columns, variant.rows)
        falls = variant.supports == board.beneath() and set(variant.lines) == set(board.lines(4)) and not variant.beside
        self._search = (_ColumnSearch if falls else FullSearch)(variant, effort)
        self._variant = variant

    def allow(self, effort: Effort) -> None:
        """Replace the effort that the methods can spend."""
        self._search.effort = effort

    def result(self, position: Position) -> int:
        """Return the result for the side to move: 1 win, 0 draw, -1 loss."""
        return sum(self._search.reaches(score, position.own, position.opponent) for score in (0, 1)) - 1

    def keeps(self, position: Position, cell: int, score: int) -> bool:
        """Return whether a move gets at least the score (see `FullSearch`): 1 for any win, 0 for a draw."""
        placed = position.own | 1 << cell
        other = position.opponent
        if self._variant.completes(placed, cell) or placed | other == self._variant.full:
            return score <= 0 or self._variant.completes(placed, cell)
        return not self._search.reaches(1 - score, other, placed)

    def solution(self, position: Position) -> Verdict:
        own = position.own
        other = position.opponent
        free = self._variant.cells - position.ply
        score = result = self.result(position)
        # Near ends are tested first, because a short search can find them.
        if result > 0:
            score = next(score for score in range(free, 0, -2) if self._search.reaches(score, own, other))
        elif result < 0:
            score = next(score for score in range(1 - free, 0, 2) if not self._search.reaches(score + 1, own, other))
        best = tuple(cell for cell in position.free if self.keeps(position, cell, score))
        return Verdict(result, free + 1 - abs(score) if score else None, best)


class _ColumnSearch:
    """Searches four in a row with gravity. Bit `column * (rows + 1) + height` is a cell, and the top row stays free."""

    def __init__(self, variant: Variant, effort: Effort) -> None:
        columns, rows = variant.columns, variant.rows
        self.effort = effort
        self._cells = variant.cells
        # By number of the cell, from the top row.
        self._bit = [1 << column * (rows + 1) + rows - 1 - row for row in range(rows) for column in range(columns)]
        self._bottom = sum(1 << column * (rows + 1) for column in range(columns))
        self._board = self._bottom * ((1 << rows) - 1)
        middle = sorted(range(columns), key=lambda column: abs(2 * column - columns + 1))
        self._columns = [((1 << rows) - 1) << column * (rows + 1) for column in middle]
        self._steps = (rows, rows + 1, rows + 2)
        # Per position, the score that the side to move gets at least, and at most.
        self._known: dict[int, tuple[int, int]] = {}

    def reaches(self, score: int, own: int, other: int) -> bool:
        mine = sum(self._bit[cell] for cell in members(own))
        taken = mine | sum(self._bit[cell] for cell in members(other))
        free = self._cells - taken.bit_count()
        if self._winning(mine) & (taken + self._bottom) & self._board:
            return score <= free
        return self._reaches(score, mine, taken, self._winning(taken ^ mine) & ~taken, free)

    def _reaches(self, score: int, mine: int, taken: int, danger: int, free: int) -> bool:
        """Do the same if the side to move cannot win at once; `danger` is where the other side completes a line."""
        if score > max(free - 2, 0) or score <= 1 - free:
            return score <= 1 - free
        moves = (taken + self._bottom) & self._board
        if forced := moves & danger:
            moves = forced if not forced & (forced - 1) else 0
        # A stone below a cell that wins for the other side loses.
        moves &= ~(danger >> 1)
        if not moves or free <= 2:
            return moves != 0 and score <= 0
        # In each column, a bit above the stones ends them, so one number identifies both sides' stones.
        key = taken + self._bottom + mine
        least, most = self._known.get(key, (1 - free, free))
        if score <= least or score > most:
            return score <= least
        self.effort.spend()
        rows: list[tuple[int, int, int, int]] = []
        for column in self._columns:
            if move := moves & column:
                threats = self._winning(mine | move) & ~(taken | move)
                rows.append((-threats.bit_count(), len(rows), taken | move, threats))
        for _, _, occupied, threats in sorted(rows):
            if not self._reaches(1 - score, taken ^ mine, occupied, threats, free - 1):
                self._known[key] = (score, most)
                return True
        self._known[key] = (least, score - 1)
        return False

    def _winning(self, stones: int) -> int:
        """Return the cells, taken or not, that complete a line of these stones."""
        cells = stones << 1 & stones << 2 & stones << 3
        for step in self._steps:
            pair = stones << step & stones << 2 * step
            cells |= pair & (stones << 3 * step | stones >> step)
            pair = stones >> step & stones >> 2 * step
            cells |= pair & (stones << step | stones >> 3 * step)
        return cells & self._board
