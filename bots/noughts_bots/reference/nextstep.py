"""`nextstep`: searches to a depth, with scores from 8 to 32, in any variant."""

from functools import cache

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation, best_of
from noughts_bots.reference.depth_search import DepthSearch, Scale
from noughts_referee.rules import Position, Variant

# The article's score is `Fin` times 8. `Fin` is 1 for the opponent's line, 3 for a draw, 4 for an own line, and 5 for
# both lines, which play cannot reach. A position at the limit of the depth scores 16, less than a draw.
_OPPONENT_LINE = 1
_OWN_LINE = 4
_FACTOR = 8
_FIN_SCALE = Scale(lost=8, unknown=16, drawn=24, won=32, step=1)

_DEPTHS_BY_CELLS = ((9, 9), (12, 8), (16, 7), (64, 5), (400, 4), (900, 3))
"""(largest number of cells, default depth): a move takes about one second at most in plain Python."""
_DEPTHS_BY_MOVES = ((4, 9), (7, 7), (16, 5), (64, 4), (900, 3))
"""The same with gravity, by the number of possible first moves, which is small."""


def default_depth(variant: Variant) -> int:
    """Return the default depth of `nextstep` in plies for a variant."""
    if variant.gravity:
        first_moves = len(variant.free_cells(0))
        return next(depth for moves, depth in _DEPTHS_BY_MOVES if first_moves <= moves)
    return next(depth for cells, depth in _DEPTHS_BY_CELLS if variant.cells <= cells)


class NextStep(CachingBot):
    """Searches to a depth, and chooses at random among the best cells.

    A win k plies later scores 32-k, a loss 8+k, a draw 24, and a position at the limit of the depth 16. So the bot
    prefers a draw to an unknown result, and assumes that its opponent prefers an unknown result to a draw.

    Source: article 000, `NextStep` with the second half of `SelectCell`.

    Args:
        depth: plies to look ahead, 1..9; None takes `default_depth`, which is 9 on 3x3.
    """

    name = "nextstep"
    boards = "every variant but renju and caro"

    def __init__(self, depth: int | None = None) -> None:
        super().__init__()
        self.depth = depth
        self._search = cache(self._new_search)

    def work_out(self, position: Position) -> Evaluation:
        return best_of(self._scores(position.variant, position.own, position.opponent))

    def _scores(self, variant: Variant, own: int, opponent: int) -> dict[int, int]:
        """Return each free cell's score: `Rayting` in the article."""
        if variant.has_line(own) or variant.has_line(opponent):
            free = variant.free_cells(own | opponent)
            return {cell: _score_finished(variant, own | 1 << cell, opponent) for cell in free}
        return self._search(variant).scores(own, opponent)

    def _new_search(self, variant: Variant) -> DepthSearch:
        return DepthSearch(variant, self.depth or default_depth(variant), _FIN_SCALE)


def _score_finished(variant: Variant, own: int, opponent: int) -> int:
    """Return the article's `Fin shl 3` for a board that had a line before the move; 40 if now both sides have one."""
    result = _OPPONENT_LINE if variant.has_line(opponent) else 0
    if variant.has_line(own):
        result |= _OWN_LINE
    return result * _FACTOR
