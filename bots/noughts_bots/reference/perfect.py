"""`perfect`: plays the best moves of a solved variant: it wins as soon and loses as late as possible."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_bots.reference.exact import MOST_FREE_CELLS, Solver, can_solve
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Position, Variant

_LARGEST_BOARD = 16
"""Cells of the largest boards on which a search from the first move ends within seconds, with lines of any length."""
_SHORT_LINE = 3
"""With lines of this length, games end so early that the search also ends within seconds on larger boards."""


class Perfect(CachingBot):
    """Searches to the end of the game, and chooses at random among the best moves.

    On Connect Four it needs the extra `connect4`, whose searches reach the end from the first move.
    """

    name = "perfect"
    boards = (
        f"boards of at most {_LARGEST_BOARD} cells, boards of at most {MOST_FREE_CELLS} cells with lines of "
        f"{_SHORT_LINE}, and connect4 with the extra `connect4`"
    )
    advice = "choose such a variant (for connect4, in a checkout: pip install '.[connect4]'), or the bot `threats`"

    def __init__(self) -> None:
        super().__init__()
        self._solvers: dict[Variant, Solver] = {}

    def plays(self, variant: Variant) -> bool:
        is_quick = variant.cells <= _LARGEST_BOARD or all(line.bit_count() <= _SHORT_LINE for line in variant.lines)
        # Boards of more than `MOST_FREE_CELLS` cells are solved by the searches of an extra, which are quick.
        return can_solve(Position(variant)) and (is_quick or variant.cells > MOST_FREE_CELLS)

    def work_out(self, position: Position) -> Evaluation:
        solver = self._solvers.get(position.variant)
        if solver is None:
            solver = self._solvers[position.variant] = Solver(position.variant, Effort(None))
        solver.allow(Effort(None))  # lets the solver forget positions if it remembers too many
        return Evaluation(solver.solution(position).best)
