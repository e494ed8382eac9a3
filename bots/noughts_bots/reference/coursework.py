"""`coursework`: the centre, else a win, else a block, else a random free cell."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Considered
from noughts_referee.rules import Position

# The questions of `check` in its order: if both of these cells hold the mark and k is free, then k. The print has lost
# the pairs; its 24 values of k fit the 24 pairs of cells that share a line in one way only.
_QUESTIONS = (
    ((0, 1), 2), ((0, 2), 1), ((0, 3), 6), ((0, 6), 3), ((0, 4), 8), ((0, 8), 4),
    ((1, 2), 0), ((1, 4), 7), ((1, 7), 4),
    ((2, 6), 4), ((2, 4), 6), ((2, 5), 8), ((2, 8), 5),
    ((3, 6), 0), ((3, 4), 5), ((3, 5), 4),
    ((4, 8), 0), ((4, 5), 3), ((4, 7), 1), ((4, 6), 2),
    ((5, 8), 2),
    ((6, 7), 8), ((6, 8), 7),
    ((7, 8), 6),
)  # fmt: skip
# In the article a later match replaces earlier ones, so the search starts from the end.
_FROM_THE_END = tuple((1 << a | 1 << b, k) for (a, b), k in reversed(_QUESTIONS))

_CENTRE = 4
# `Next(0,8)` excludes its upper limit.
_NEVER_DRAWN = 8


class Coursework(CachingBot):
    """Plays at random, but never the last cell. The higher level first takes the centre, else wins, else blocks.

    It takes a free centre even before a win. If only the last cell is left, it takes that, because the article's loop
    would not end.

    Source: article 003, the C++ coursework: `low_level`, `dif_level` and `check`.

    Args:
        level: 1 plays at random only, 2 looks first.
    """

    name = "coursework"
    variants = ("tictactoe",)
    boards = "tictactoe"

    def __init__(self, level: int = 2) -> None:
        super().__init__()
        self.level = level

    def work_out(self, position: Position) -> Considered:
        free = position.free
        if self.level > 1:
            if _CENTRE in free:
                return Considered((_CENTRE,))
            for stones in (position.own, position.opponent):
                # The free cell that completes a line with two of the stones, by the article's last match.
                cell = next((k for pair, k in _FROM_THE_END if stones & pair == pair and k in free), None)
                if cell is not None:
                    return Considered((cell,))
        return Considered(tuple(cell for cell in free if cell != _NEVER_DRAWN) or free)
