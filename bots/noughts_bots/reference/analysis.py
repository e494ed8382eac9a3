"""The value of positions: exact values on small boards, and forced wins that `threats` proves on larger ones."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from noughts_bots.reference.exact import Solver, Verdict, can_solve
from noughts_bots.reference.threats.bot import ThreatsBot
from noughts_bots.reference.threats.continuous_fours import ContinuousFours
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_bots.reference.threats.search import CERTAIN, WON
from noughts_referee.rules import Position, Variant, base_name, covers, parse_variant

_MOST_FOURS = 3
"""Moves one after the other that the other side must answer at once, in the proof that a move loses."""
_MOST_QUESTIONS = 4_000
"""The most positions of a game that `threats` judges to prove that a side is lost."""


class Turn(NamedTuple):
    """A move that made the value of the game worse for its mover."""

    ply: int
    """The ply of the move, from 0."""
    before: Verdict
    """The value before the move, for its mover. `best` has the better moves, as far as they are known."""
    after: Verdict
    """The value after the move, for the other side."""
    line: tuple[int, ...]
    """The next moves if both sides play best, as far as they are known; empty unless the move lost the game."""


class Analyst:
    """Judges positions of one variant in which the game is not over.

    Args:
        effort: the limit of the exact search, for all questions together: 1 for each position that it visits, or for
            64 positions if the search is compiled.
        nodes: the limit of the positions that `threats` visits for each question.
    """

    def __init__(self, variant: Variant, *, effort: int, nodes: int) -> None:
        self._variant = variant
        self._solver = Solver(variant, Effort(effort))
        # The rule of an opening (`+...` in the name) does not matter later.
        rules = parse_variant(base_name(variant.name)) if "+" in variant.name else variant
        # With forbidden moves or blocked lines, a win that `threats` finds is likely but not certain.
        has_threats = covers(ThreatsBot.variants, variant.name)
        is_certain = not (rules.forbids or rules.blocked_ends)
        self._threats = ThreatsBot(nodes=nodes) if has_threats and is_certain else None
        self._fours = ContinuousFours(variant) if has_threats and not is_certain else None
        self._nodes = nodes

    def allow(self, effort: int) -> None:
        """Replace the rest of the exact search's effort by this one."""
        self._solver.allow(Effort(effort))

    def verdict(self, position: Position) -> Verdict | None:
        """Return the value of the position; None if no solver reaches it."""
        if can_solve(position):
            try:
                return self._solver.solution(position)
            except EffortSpent:
                pass
        return self._forced_win(position)

    def proven_value(self, position: Position, effort: int) -> int | None:
        """Return the value for the side to move: 1 win, 0 draw, -1 loss; None if the effort proves none.

        It depends only on the position and the effort, so that games end alike at any concurrency. Of the results of
        `threats` only wins count: it can report a loss before it has tried all moves. With forbidden moves or blocked
        lines, wins by continuous fours count.
        """
        if can_solve(position):
            self._solver.forget(Effort(effort))
            try:
                return self._solver.result(position)
            except EffortSpent:
                pass
        if self._fours is not None:
            try:
                return 1 if self._fours.has_win(position, Effort(self._nodes)) else None
            except EffortSpent:
                return None
        verdict = self._forced_win(position)
        return 1 if verdict is not None and verdict.result == 1 else None

    def only_win(self, position: Position) -> Verdict | None:
        """Return the value of a position with its winning move in `best` if this is proven to be the only one.

        `best` is empty if other moves win too, or perhaps do. None if no win is known.
        """
        if can_solve(position):
            try:
                solution = self._solver.solution(position)
                if solution.result != 1:
                    return None
                others = (cell for cell in position.free if cell != solution.best[0])
                return solution._replace(best=()) if any(self._wins(position, cell) for cell in others) else solution
            except EffortSpent:
                pass
        verdict = self._forced_win(position)
        if verdict is None or verdict.result != 1:
            return None
        others = (cell for cell in position.free if cell != verdict.best[0])
        is_only = all(self._loses(position, cell, _MOST_FOURS, Effort(None)) for cell in others)
        return verdict if is_only else verdict._replace(best=())

    def _wins(self, position: Position, cell: int) -> bool:
        return self._solver.keeps_score(position, cell, 1)

    def _is_lost(self, position: Position, likely: Sequence[int], questions: Effort) -> bool:
        """Return whether each move is proven to lose. The `likely` defences are tried first."""
        cells = sorted(position.free, key=lambda cell: cell not in likely)
        try:
            return all(self._loses(position, cell, _MOST_FOURS, questions) for cell in cells)
        except EffortSpent:
            return False

    def _loses(self, position: Position, cell: int, fours: int, questions: Effort) -> bool:
        """Return whether the other side is proven to win after this move. Raises EffortSpent.

        Up to `fours` moves that the other side must answer at once are followed, because `threats` stops at them.

        Args:
            questions: limits the positions that `threats` judges.
        """
        after = position.copy()
        after.play(cell)
        if after.outcome() is not None:
            return False
        questions.spend()
        verdict = self._forced_win(after)
        if verdict is not None and verdict.result == 1:
            return True
        placed = after.opponent
        answers = [free for free in after.free if self._variant.completes(placed | 1 << free, free)]
        if len(answers) != 1 or not fours:
            return False
        after.play(answers[0])
        return after.outcome() is None and all(self._loses(after, free, fours - 1, questions) for free in after.free)

    def _forced_win(self, position: Position) -> Verdict | None:
        """Return what `threats` proves; None if its proofs do not hold in this variant."""
        if self._threats is None:
            return None
        evaluation = self._threats.consider(position)
        best = evaluation.candidates[:1]
        score = evaluation.scores.get(best[0], 0)
        if abs(score) <= CERTAIN:
            return Verdict(None, None, best, exact=False)
        return Verdict(1 if score > 0 else -1, WON - abs(score), best, exact=False)

    def verdicts(
        self, moves: Sequence[int], first: int, show: Callable[[int, int], object] = lambda done, total: None
    ) -> dict[int, Verdict]:
        """Return the known verdicts by ply, from `first` to the end of the game.

        `show` is called with the number of judged positions and the number of all positions.
        """
        last = len(moves)
        position = Position.after(self._variant, moves)
        outcome = position.outcome()
        verdicts: dict[int, Verdict] = {}
        # Start at the end, because late positions are solved most easily and the search remembers them.
        for ply in range(last, first - 1, -1):
            show(last - ply, last - first + 1)
            if ply == last and outcome is not None:
                verdicts[ply] = Verdict(0 if outcome.winner is None else -1, 0, ())
            elif verdict := self.verdict(Position.after(self._variant, moves[:ply])):
                verdicts[ply] = verdict
        questions = Effort(_MOST_QUESTIONS)
        for ply in range(first + 1, last + 1):
            before, current = verdicts.get(ply - 1), verdicts.get(ply)
            if before is None or current is None or before.result != 1 or current.result is not None:
                continue
            # After the winning move that was found, the other side is lost. After another one, this needs a proof: even
            # if the attacker wins in the end, both sides can have made a mistake.
            if moves[ply - 1] in before.best:
                verdicts[ply] = current._replace(result=-1, plies=before.plies and before.plies - 1)
            elif self._is_lost(Position.after(self._variant, moves[:ply]), current.best, questions):
                verdicts[ply] = current._replace(result=-1)
        return verdicts

    def turns(self, moves: Sequence[int], verdicts: dict[int, Verdict]) -> list[Turn]:
        """Return the moves that made the value worse. An unknown value counts as one between a win and a loss."""
        turns = []
        for ply, cell in enumerate(moves):
            before, after = verdicts.get(ply), verdicts.get(ply + 1)
            if before and after and -(after.result or 0) < (before.result or 0):
                better = tuple(move for move in before.best if move != cell)
                line = self.line(moves[: ply + 1]) if after.result == 1 else ()
                turns.append(Turn(ply, before._replace(best=better), after, line))
        return turns

    def line(self, moves: Sequence[int]) -> tuple[int, ...]:
        """Return the best moves of both sides after these moves, as far as they are known."""
        position = Position.after(self._variant, moves)
        while position.outcome() is None and (verdict := self.verdict(position)):
            if verdict.result is None and (len(moves) - position.ply) % 2 == 0:
                break  # it is the winner's turn, but only the win is known, not its next move
            position.play(verdict.best[0])
        return tuple(position.moves[len(moves) :])
