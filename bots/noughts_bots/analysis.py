"""The value of positions: exact on small boards, forced wins that `threats` proves on larger ones."""

from typing import NamedTuple

from noughts_bots.reference.exact import Solver, can_solve
from noughts_bots.reference.threats.bot import ThreatsBot
from noughts_bots.reference.threats.effort import Effort, Spent
from noughts_bots.reference.threats.search import CERTAIN, WON
from noughts_referee.rules import Position, Variant, base_name, covers, parse_variant


class Verdict(NamedTuple):
    """The value of a position for the side to move."""

    result: int | None  # 1 win, 0 draw, -1 loss; None: unknown
    plies: int | None  # half-moves until a win or loss if both sides play best; at most so many if not exact
    best: tuple[int, ...]  # the best moves; if not exact, one move
    exact: bool


class Analyst:
    """Judges positions of one variant in which the game is not over.

    Args:
        positions: the most positions that the exact search visits, for all questions together.
        nodes: the most positions that `threats` visits for each question.
    """

    def __init__(self, variant: Variant, *, positions: int, nodes: int) -> None:
        self._solver = Solver(variant, Effort(positions))
        rules = parse_variant(base_name(variant.name)) if "+" in variant.name else variant
        # With forbidden moves or blocked lines, what `threats` finds is likely but not certain.
        proves = covers(ThreatsBot.variants, variant.name) and not (rules.forbids or rules.blocked_ends)
        self._threats = ThreatsBot(nodes=nodes) if proves else None

    def verdict(self, position: Position) -> Verdict | None:
        """Return the value of the position; None if no solver reaches it."""
        if can_solve(position):
            try:
                return Verdict(*self._solver.solution(position), exact=True)
            except Spent:
                pass
        if self._threats is None:
            return None
        considered = self._threats.consider(position)
        best = considered.candidates[:1]
        score = considered.scores.get(best[0], 0)
        result = (score > CERTAIN) - (score < -CERTAIN)
        return Verdict(result or None, WON - abs(score) if result else None, best, exact=False)
