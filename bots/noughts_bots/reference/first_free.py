"""`first-free`: the lowest free cell."""

from collections.abc import Sequence

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_referee.rules import Position, free_of_each


class FirstFree(CachingBot):
    """Plays the lowest free cell. Source: article 003, step 6 of the Windows Forms lesson."""

    name = "first-free"
    heeds_forbidden_moves = True

    def choose_batch(self, positions: Sequence[Position]) -> list[int]:
        return [free[0] for free in free_of_each(positions)]

    def work_out(self, position: Position) -> Evaluation:
        return Evaluation(position.free[:1])
