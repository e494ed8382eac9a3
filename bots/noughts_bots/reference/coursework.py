"""`coursework`: the centre, else a win, else a block, else a random free cell."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_referee.rules import Position

# The conditions of the article's `check` in its order: if both cells of the pair hold the mark and k is free, play k.
# The print of the article lacks the pairs. Its 24 values of k fit the 24 pairs of cells on a line in only one way.
_CONDITIONS = (
    ((0, 1), 2), ((0, 2), 1), ((0, 3), 6), ((0, 6), 3), ((0, 4), 8), ((0, 8), 4),
    ((1, 2), 0), ((1, 4), 7), ((1, 7), 4),
    ((2, 6), 4), ((2, 4), 6), ((2, 5), 8), ((2, 8), 5),
    ((3, 6), 0), ((3, 4), 5), ((3, 5), 4),
    ((4, 8), 0), ((4, 5), 3), ((4, 7), 1), ((4, 6), 2),
    ((5, 8), 2),
    ((6, 7), 8), ((6, 8), 7),
    ((7, 8), 6),
)  # fmt: skip
# In the article a later match replaces earlier ones, so the last match counts.
_LAST_CONDITION_FIRST = tuple((1 << a | 1 << b, k) for (a, b), k in reversed(_CONDITIONS))

_CENTRE = 4
_LAST_CELL = 8
"""The cell that the article's random choice never returns, because `Next(0,8)` excludes its upper limit."""


class Coursework(CachingBot):
    """Plays at random, but never the last cell. Level 2 first tries the centre, then a win, then a block.

    So it takes a free centre even if it could win. If only the last cell is free, it takes that one; the article's loop
    would not end.

    Source: article 003, the C++ coursework: `low_level`, `dif_level` and `check`.

    Args:
        level: 1 plays at random only; 2 first tries the centre, a win and a block.
    """

    name = "coursework"
    variants = ("tictactoe",)
    boards = "tictactoe"

    def __init__(self, level: int = 2) -> None:
        super().__init__()
        self.level = level

    def work_out(self, position: Position) -> Evaluation:
        free = position.free
        if self.level > 1:
            if _CENTRE in free:
                return Evaluation((_CENTRE,))
            for stones in (position.own, position.opponent):
                # The free cell that completes a line with two of the stones, by the article's last match.
                cell = next((k for pair, k in _LAST_CONDITION_FIRST if stones & pair == pair and k in free), None)
                if cell is not None:
                    return Evaluation((cell,))
        return Evaluation(tuple(cell for cell in free if cell != _LAST_CELL) or free)
