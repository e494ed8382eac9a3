"""`nextstep`: looks ahead to a depth on the scale 8..32, in any variant."""

from functools import cache

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Considered, best_of
from noughts_bots.reference.depth_search import DepthSearch, Scale
from noughts_referee.rules import Position, Variant

# The article's scale is `Fin` times 8: 1 for the opponent's line, 3 for a draw, 4 for an own line, and 5 for both on
# boards that play cannot reach. The unknown beyond the depth is worth 16, less than a draw.
_OPPONENT_LINE, _OWN_LINE = 1, 4
_FACTOR = 8
_FIN_SCALE = Scale(lost=8, unknown=16, drawn=24, won=32, step=1)

# Depth for boards of at most this many cells, so that a move takes about one second at most in plain Python.
_DEFAULT_DEPTHS = ((9, 9), (12, 8), (16, 7), (64, 5), (400, 4), (900, 3))
# With gravity there are few moves, at most one for each place where a stone can fall.
_DEFAULT_DEPTHS_BY_CHOICE = ((4, 9), (7, 7), (16, 5), (64, 4), (900, 3))


def default_depth(variant: Variant) -> int:
    """Return the default depth of `nextstep` in half-moves for a variant."""
    if variant.gravity:
        choice = len(variant.free_cells(0))
        return next(depth for cells, depth in _DEFAULT_DEPTHS_BY_CHOICE if choice <= cells)
    return next(depth for cells, depth in _DEFAULT_DEPTHS if variant.cells <= cells)


class NextStep(CachingBot):
    """Depth search; a random choice among the best cells.

    A win k half-moves later is worth 32-k, a loss 8+k, a sure draw 24, and the unknown beyond the depth 16. So it
    prefers a sure draw to the unknown, and assumes the reverse of its opponent.

    Source: article 000, `NextStep` with the second half of `SelectCell`.

    Args:
        depth: half-moves to look ahead, 1..9; None takes `default_depth`, which is 9 on 3x3.
    """

    name = "nextstep"
    boards = "every variant but renju and caro"

    def __init__(self, depth: int | None = None) -> None:
        super().__init__()
        self.depth = depth
        self._search = cache(self._new_search)

    def work_out(self, position: Position) -> Considered:
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
    """Return `Fin shl 3` for a board that already had a line before the move; 40 if both sides have one now."""
    result = _OPPONENT_LINE if variant.has_line(opponent) else 0
    if variant.has_line(own):
        result |= _OWN_LINE
    return result * _FACTOR
