"""The exact value of a position: a search to the end of the game, for boards with few free cells.

`FullSearch` has the scores. Games of columns, such as Connect Four, have faster searches of the same scores.
"""

from functools import cache
from importlib.util import find_spec
from typing import NamedTuple, Protocol

from noughts_bots.reference.columns.column_search import ColumnSearch
from noughts_bots.reference.columns.opening_book import BOOK_COLUMNS, BOOK_ROWS, OpeningBook, installed_book
from noughts_bots.reference.minimax import FullSearch
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Board, Position, Variant

MOST_FREE_CELLS = 28
"""Limit of the free cells of a position that can be solved without the extra `connect4`."""
_MOST_FREE_COMPILED = 34
"""The same limit for the compiled search, which needs about a second for the first such position of a game."""
_MOST_REMEMBERED = 1 << 20
"""Limit of the positions that a search remembers when it gets a new effort: some hundreds of megabytes."""
_COMPILED_BITS = 63
"""The bits of the largest board of the compiled search: one for each cell and one above each column."""
_COMPILED_COLUMNS = 16
"""The compiled search has space for this many columns."""


class Verdict(NamedTuple):
    """The value of a position for the side to move."""

    result: int | None
    """1 for a win, 0 for a draw, -1 for a loss; None if it is unknown."""
    plies: int | None
    """Half-moves until a win or loss if both sides play best; an upper limit if the verdict is not exact."""
    best: tuple[int, ...]
    """The moves that keep the result and win soonest or lose latest. If the verdict is not exact, one good move."""
    exact: bool = True


class _Search(Protocol):
    """A search that tests whether the side to move reaches a score; see `FullSearch` for the scores."""

    effort: Effort

    def forget(self) -> None:
        """Forget all positions, so that results depend on the position and the effort only."""

    def reaches(self, score: int, own: int, other: int, /) -> bool:
        """Return whether the side to move, which has the stones `own`, gets at least the score. Raises EffortSpent."""


def can_solve(position: Position) -> bool:
    """Return whether a solver can be used: few cells are free, and no moves are forbidden and no lines blocked."""
    variant = position.variant
    return variant.cells - position.ply <= most_free_cells(variant) and not (variant.forbids or variant.blocked_ends)


@cache
def most_free_cells(variant: Variant) -> int:
    """Return the largest number of free cells with which a position can be solved, with the installed extras."""
    if not _has_columns(variant):
        return MOST_FREE_CELLS
    if _book_of(variant):
        return variant.cells
    return _MOST_FREE_COMPILED if _is_compiled(variant) else MOST_FREE_CELLS


class Solver:
    """Solves positions for which `can_solve` is true and in which the game is not over.

    It remembers the positions that it has searched. Each method raises EffortSpent if the effort is spent.
    """

    def __init__(self, variant: Variant, effort: Effort) -> None:
        self._variant = variant
        self._search = _new_search(variant, effort)
        self._searched = 0
        """The effort that was spent since the search was created, without the current effort."""

    def allow(self, effort: Effort) -> None:
        """Replace the effort that the methods can spend. Forget the searched positions if there are too many."""
        self._searched += self._search.effort.nodes
        if self._searched > _MOST_REMEMBERED:
            self._searched = 0
            self._search.forget()
        self._search.effort = effort

    def forget(self, effort: Effort) -> None:
        """Forget all positions, so that results depend on the position and this effort only."""
        self._searched = 0
        self._search.forget()
        self._search.effort = effort

    def result(self, position: Position) -> int:
        """Return the result for the side to move: 1 win, 0 draw, -1 loss."""
        own = position.own
        other = position.opponent
        reaches_draw = self._search.reaches(0, own, other)
        reaches_win = self._search.reaches(1, own, other)
        if reaches_win:
            return 1
        return 0 if reaches_draw else -1

    def keeps_score(self, position: Position, cell: int, score: int) -> bool:
        """Return whether a move gets at least the score (see `FullSearch`): 1 for any win, 0 for a draw."""
        placed = position.own | 1 << cell
        other = position.opponent
        if self._variant.completes(placed, cell) or placed | other == self._variant.full:
            return score <= 0 or self._variant.completes(placed, cell)
        return not self._search.reaches(1 - score, other, placed)

    def solution(self, position: Position) -> Verdict:
        """Return the exact value of a position, and its best moves."""
        own = position.own
        other = position.opponent
        free = self._variant.cells - position.ply
        result = self.result(position)
        score = result
        # The ends in the fewest moves are tested first, because a short search finds them.
        if result > 0:
            score = next(score for score in range(free, 0, -2) if self._search.reaches(score, own, other))
        elif result < 0:
            score = next(score for score in range(1 - free, 0, 2) if not self._search.reaches(score + 1, own, other))
        best = tuple(cell for cell in position.free if self.keeps_score(position, cell, score))
        return Verdict(result, free + 1 - abs(score) if score else None, best)


def _new_search(variant: Variant, effort: Effort) -> _Search:
    if not _has_columns(variant):
        return FullSearch(variant, effort)
    if not _is_compiled(variant):
        return ColumnSearch(variant, effort, _book_of(variant))
    from noughts_bots.reference.columns.compiled_search import CompiledSearch

    return CompiledSearch(variant, effort, _book_of(variant))


def _has_columns(variant: Variant) -> bool:
    """Return whether the game is four in a row with gravity."""
    board = Board(variant.columns, variant.rows)
    return variant.supports == board.beneath() and set(variant.lines) == set(board.lines(4)) and not variant.beside


def _is_compiled(variant: Variant) -> bool:
    bits = variant.columns * (variant.rows + 1)
    return bits <= _COMPILED_BITS and variant.columns <= _COMPILED_COLUMNS and find_spec("wasmtime") is not None


def _book_of(variant: Variant) -> OpeningBook | None:
    is_connect4 = (variant.columns, variant.rows) == (BOOK_COLUMNS, BOOK_ROWS)
    return installed_book() if is_connect4 else None
