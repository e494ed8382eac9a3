"""`three-stage`: win, else block, else the lowest free cell."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_referee.rules import Position

# The original rounds a uniform number from 1 to 9, so 1 and 9 are half as likely as the others. If the result is above
# 3, it makes the first move, into that cell.
_OPENING = Evaluation(candidates=(3, 4, 5, 6, 7, 8), weights=(2, 2, 2, 2, 2, 1))


class ThreeStage(CachingBot):
    """Completes its own line, else blocks the opponent's, else takes the lowest free cell. It looks no further.

    Source: article 003, the jQuery page.
    """

    name = "three-stage"
    variants = ("tictactoe",)
    boards = "tictactoe"

    def work_out(self, position: Position) -> Evaluation:
        own, opponent = position.own, position.opponent
        if not own | opponent:
            return _OPENING
        for stones, others in ((own, opponent), (opponent, own)):
            # The variant has its lines in the order of the original: 123 456 789 147 258 369 159 357.
            for line in position.variant.lines:
                missing = line & ~stones
                if missing.bit_count() == 1 and not missing & others:
                    return Evaluation((missing.bit_length() - 1,))
        return Evaluation(position.free[:1])
