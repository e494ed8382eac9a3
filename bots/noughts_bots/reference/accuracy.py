"""The share of moves with which players keep the exact value of a game.

A decision is a move in a won or drawn position in which at least one legal move would make the value worse. A blunder
is a decision that made it worse: a win became a draw or a loss, or a draw became a loss. The accuracy is the share of
decisions without a blunder. Other moves do not count, because no choice could lose anything there: in a lost position
every move would be perfect, so a bot that loses early would look better.
"""

from collections.abc import Sequence
from typing import NamedTuple

from noughts_bots.reference.exact import Solver, can_solve
from noughts_bots.reference.threats.effort import Effort, Spent
from noughts_referee.rules import Position, Variant

REMEMBERED = 1 << 17
"""Limit of the positions and decisions that are remembered, of all variants together: at most about 50 MiB."""
_MOST_JUDGES = 8


class Accuracy(NamedTuple):
    """The counts of one player."""

    games: int = 0
    """Games in which the value of a position was known."""
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
        """Return the number of positions and decisions that it remembers, at most."""
        return self._searched + len(self._known)

    def _forget(self) -> None:
        self._solver = Solver(self._variant, Effort(None))
        self._searched = 0
        self._known: dict[tuple[int, int, int], bool | None] = {}

    def judge(self, moves: Sequence[int], first: int, effort: Effort) -> tuple[Accuracy, Accuracy]:
        """Return the counts of each side, from the end of the game back to ply `first` as far as the effort reaches."""
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
        except Spent:
            pass
        self._searched += effort.nodes - nodes_before
        first_side, second_side = (
            Accuracy(games=judged_games, decisions=decisions[side], blunders=blunders[side]) for side in (0, 1)
        )
        return first_side, second_side

    def _decision(self, position: Position, cell: int) -> bool | None:
        """Return whether a decision keeps the value; None for a move that is not a decision. Raises Spent."""
        key = (position.own, position.opponent, cell)
        if key not in self._known:
            result = self._solver.result(position)
            keeps_value = self._solver.keeps(position, cell, result)
            others_keep_it = (self._solver.keeps(position, other, result) for other in position.free)
            is_decision = result >= 0 and not (keeps_value and all(others_keep_it))
            self._known[key] = keeps_value if is_decision else None
        return self._known[key]


class Judges:
    """Judges of several variants, with one limit on what all of them remember."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._judges: dict[Variant, Judge] = {}
        """The judges by variant; the one that was used last is at the end."""

    @property
    def remembered(self) -> int:
        """Return the number of positions and decisions that all judges remember, at most."""
        return sum(judge.remembered for judge in self._judges.values())

    def of(self, variant: Variant) -> Judge:
        """Return the judge of a variant. If all remember too much, forget those that were not used for longest."""
        judge = self._judges.pop(variant, None) or Judge(variant)
        self._judges[variant] = judge
        while len(self._judges) > _MOST_JUDGES or (len(self._judges) > 1 and self.remembered > self._most):
            del self._judges[next(iter(self._judges))]
        return judge
