"""`three-stage`: win, else block, else the lowest free cell."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Considered
from noughts_referee.rules import Position

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
        for stones, others in ((own, opponent), (opponent, own)):
            # The variant has its lines in the page's order: 123 456 789 147 258 369 159 357.
            for line in position.variant.lines:
                missing = line & ~stones
                if missing.bit_count() == 1 and not missing & others:
                    return Considered((missing.bit_length() - 1,))
        return Considered(position.free[:1])
