"""`three-stage`: win, else block, else the lowest free cell."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Considered
from noughts_referee.rules import Position

# The page's lines in its order: 123 456 789 147 258 369 159 357, counted from 0.
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

# The page rounds a uniform number from 1 to 9, so both ends are half as likely. It moves first only if the result is
# above 3, and then into that cell.
_OPENING = Considered(candidates=(3, 4, 5, 6, 7, 8), weights=(2, 2, 2, 2, 2, 1))


class ThreeStage(CachingBot):
    """Completes its own line, else blocks the opponent's, else takes the lowest free cell. It looks no further.

    Source: article 003, the jQuery page.
    """

    name = "three-stage"
    variants = ("tictactoe",)
    boards = "tictactoe"

    def work_out(self, position: Position) -> Considered:
        own, opponent = position.own, position.opponent
        if not own | opponent:
            return _OPENING
        stages = (_completing_cell(own, opponent), _completing_cell(opponent, own), position.free[0])
        return Considered((next(cell for cell in stages if cell is not None),))


def _completing_cell(stones: int, others: int) -> int | None:
    """Return the cell that completes the first line where `stones` miss one cell and that cell is free."""
    for line in _LINES:
        missing = [cell for cell in line if not stones >> cell & 1]
        if len(missing) == 1 and not others >> missing[0] & 1:
            return missing[0]
    return None
