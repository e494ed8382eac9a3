"""`pascal`: human-like ratings, as in an article's Pascal program."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation, best_of
from noughts_referee.rules import Position

# The article's tables, counted from 0: the cells of each line (`lin`), and the lines through each cell (`kle`). The
# order of the lines matters, because a third line with one opposing stone rates the earlier two again.
_LINE_CELLS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_LINES_THROUGH = tuple(tuple(line for line, cells in enumerate(_LINE_CELLS) if cell in cells) for cell in range(9))

# The sum of a line's marks shows its contents. A line through a free cell holds at most two stones; a line with one of
# each side (sum 5) has no rating.
_EMPTY = 0
_OPPONENT = 1
_OWN = 4
_NO_STONE = 0
_ONE_OPPONENT, _TWO_OPPONENTS = _OPPONENT, 2 * _OPPONENT
_ONE_OWN, _TWO_OWN = _OWN, 2 * _OWN

# A rating is a sum whose decimal digits count the reasons to play a cell.
_WIN = 1_000_000
_PREVENT_WIN = 100_000
_FORK = 10_000
_PREVENT_FORK = 1_000
_PREPARE_FORK = 100
_PREVENT_PREPARATION = 10
_FREE = 1


class Pascal(CachingBot):
    """Rates every free cell by the effect of playing it, then chooses at random.

    Source: article 000, the first `Rayting` with `SelectCell`. Unlike in the article, ratings have no upper
    limit; there they are bytes.

    Args:
        level: 0 takes a cell with a probability proportional to its rating, 1 one of the highest rated.
    """

    name = "pascal"
    variants = ("tictactoe",)
    boards = "tictactoe"

    def __init__(self, level: int = 1) -> None:
        super().__init__()
        self.level = level

    def work_out(self, position: Position) -> Evaluation:
        board = [_EMPTY] * 9
        for cell in range(9):
            if position.own >> cell & 1:
                board[cell] = _OWN
            elif position.opponent >> cell & 1:
                board[cell] = _OPPONENT
        ratings = rate(board)
        scores = {cell: ratings[cell] for cell in position.free}
        if self.level == 0:
            return Evaluation(tuple(scores), tuple(scores.values()), scores)
        return best_of(scores)


def rate(board: list[int]) -> list[int]:
    """Return the ratings of the nine cells (`Ray`) for a board of 0 (free), 1 (opponent) and 4 (own); 0 on a stone."""
    sums = [sum(board[cell] for cell in cells) for cells in _LINE_CELLS]
    ratings = [0] * 9
    for cell in range(9):
        if board[cell] == _EMPTY:
            _CellRater(board, ratings, cell).rate(sums)
    return ratings


class _CellRater:
    """Goes through the lines of one free cell, compares each with the earlier ones, and rates this and other cells."""

    def __init__(self, board: list[int], ratings: list[int], cell: int) -> None:
        self._board = board
        self._ratings = ratings
        self._cell = cell
        self._empty: list[int] = []
        """Earlier lines without a stone (`s00`)."""
        self._threatened: list[int] = []
        """Earlier lines with one stone of the opponent (`s11`)."""
        self._owned: list[int] = []
        """Earlier lines with one own stone (`s44`)."""

    def rate(self, sums: list[int]) -> None:
        self._ratings[self._cell] += _FREE
        for line in _LINES_THROUGH[self._cell]:
            total = sums[line]
            if total == _NO_STONE:
                self._rate_empty(line)
            elif total == _ONE_OPPONENT:
                self._rate_threatened(line)
            elif total == _TWO_OPPONENTS:
                self._ratings[self._cell] += _PREVENT_WIN
            elif total == _ONE_OWN:
                self._rate_owned(line)
            elif total == _TWO_OWN:
                self._ratings[self._cell] += _WIN

    def _rate_empty(self, line: int) -> None:
        self._empty.append(line)
        for _ in self._owned:
            self._add_to_others(line, _PREPARE_FORK)
        for threatened in self._threatened:
            self._prevent_preparation(here=line, there=threatened)

    def _rate_threatened(self, line: int) -> None:
        self._threatened.append(line)
        if len(self._threatened) > 1:
            self._ratings[self._cell] += _PREVENT_FORK
            # As in the article, all of them are rated again, not only the new one.
            for threatened in self._threatened:
                self._add_to_others(threatened, _PREVENT_FORK)
        for empty in self._empty:
            self._prevent_preparation(here=line, there=empty)

    def _rate_owned(self, line: int) -> None:
        self._owned.append(line)
        if len(self._owned) > 1:
            self._ratings[self._cell] += _FORK
        for empty in self._empty:
            self._add_to_others(empty, _PREPARE_FORK)

    def _prevent_preparation(self, here: int, there: int) -> None:
        """Rate two crossing lines, one with a stone of the opponent and one empty, and their common cell once."""
        self._ratings[self._cell] += _PREVENT_PREPARATION
        self._add_to_others(here, _PREVENT_PREPARATION)
        self._add_to_others(there, _PREVENT_PREPARATION)

    def _add_to_others(self, line: int, rating: int) -> None:
        """Add the rating to the line's free cells, without the cell of this object."""
        for other in _LINE_CELLS[line]:
            if other != self._cell and self._board[other] == _EMPTY:
                self._ratings[other] += rating
