"""The share of moves with which players keep the exact value of a game.

A decision is a move in a won or drawn position in which at least one legal move makes the value worse. A blunder is a
decision that made it worse: a win became a draw or a loss, or a draw became a loss. The accuracy is the share of
decisions without a blunder. Other moves do not count, because they cannot make the value worse: in a lost position
every move would count as perfect, so a bot that loses early would look better.
"""

from collections.abc import Sequence
from typing import NamedTuple

from noughts_bots.reference.exact import Solver, can_solve
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_referee.rules import Position, Variant

REMEMBERED = 1 << 17
"""Limit of the positions and decisions of all variants that are remembered: at most about 50 MiB."""
EFFORT_OF_GAME = 200_000
"""The usual effort for a game; see `Effort`."""
_MOST_JUDGES = 8
"""Limit of the judges in memory, one for each variant."""


class Accuracy(NamedTuple):
    """The counts of decisions and blunders of one player."""

    games: int = 0
    """The number of games in which the value of a position was known."""
    decisions: int = 0
    blunders: int = 0

    def plus(self, other: "Accuracy") -> "Accuracy":
        return Accuracy(
            games=self.games + other.games,
            decisions=self.decisions + other.decisions,
            blunders=self.blunders + other.blunders,
        )

    @property
    def share(self) -> float | None:
        """Return the accuracy, 0 to 1; None without decisions."""
        return (self.decisions - self.blunders) / self.decisions if self.decisions else None

    @property
    def per_game(self) -> float | None:
        """Return the blunders per judged game; None without games."""
        return self.blunders / self.games if self.games else None


class Judge:
    """Counts the decisions and blunders in games of one variant."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self._forget()

    @property
    def remembered(self) -> int:
        """Return an upper limit of the number of positions and decisions that the judge remembers."""
        return self._searched + len(self._decisions)

    def _forget(self) -> None:
        self._solver = Solver(self._variant, Effort(None))
        self._searched = 0
        self._decisions: dict[tuple[int, int, int], bool | None] = {}
        """The results of `_decision` by (own stones, opponent's stones, cell)."""

    def judge(self, moves: Sequence[int], first: int, effort: Effort) -> tuple[Accuracy, Accuracy]:
        """Return the counts of each side for the moves from ply `first` on.

        It judges the moves from the last one back, until a position cannot be solved or the effort is spent.
        """
        if self.remembered > REMEMBERED:
            self._forget()
        self._solver.allow(effort)
        nodes_before = effort.nodes
        judged_games = 0
        decisions = [0, 0]
        blunders = [0, 0]
        try:
            for ply in range(len(moves) - 1, first - 1, -1):
                position = Position.after(self._variant, moves[:ply])
                if not can_solve(position):
                    break
                keeps_value = self._decision(position, moves[ply])
                judged_games = 1
                if keeps_value is not None:
                    decisions[ply % 2] += 1
                if keeps_value is False:
                    blunders[ply % 2] += 1
        except EffortSpent:
            pass
        self._searched += effort.nodes - nodes_before
        first_side, second_side = (
            Accuracy(games=judged_games, decisions=decisions[side], blunders=blunders[side]) for side in (0, 1)
        )
        return first_side, second_side

    def _decision(self, position: Position, cell: int) -> bool | None:
        """Return whether a move keeps the value; None for a move that is not a decision. Raises EffortSpent."""
        key = (position.own, position.opponent, cell)
        if key not in self._decisions:
            result = self._solver.result(position)
            keeps_value = self._solver.keeps_score(position, cell, result)
            others_keep_it = (self._solver.keeps_score(position, other, result) for other in position.free)
            is_decision = result >= 0 and not (keeps_value and all(others_keep_it))
            self._decisions[key] = keeps_value if is_decision else None
        return self._decisions[key]


class Judges:
    """Judges of several variants, with one limit of what all of them remember together."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._judges: dict[Variant, Judge] = {}
        """The judges by variant; the one that was used last is at the end."""

    @property
    def remembered(self) -> int:
        """Return an upper limit of the number of positions and decisions that all judges remember."""
        return sum(judge.remembered for judge in self._judges.values())

    def of(self, variant: Variant) -> Judge:
        """Return the judge of a variant. If there are too many judges, or they remember too much, delete the oldest.

        The oldest judge is the one that was not used for the longest time.
        """
        judge = self._judges.pop(variant, None) or Judge(variant)
        self._judges[variant] = judge
        while len(self._judges) > _MOST_JUDGES or (len(self._judges) > 1 and self.remembered > self._most):
            del self._judges[next(iter(self._judges))]
        return judge
