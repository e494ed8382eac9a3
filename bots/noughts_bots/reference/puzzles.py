"""Puzzles in games: positions in which exactly one move wins, which is proven."""

from collections.abc import Sequence
from typing import NamedTuple

from noughts_bots.reference.analysis import Analyst
from noughts_bots.reference.exact import can_solve
from noughts_referee.rules import Position, Variant

_EFFORT = 20_000
"""The effort of the exact search for a game, see `Analyst`."""
_NODES = 2_000
"""Positions that `threats` visits for each question."""
_GIVES_UP_AFTER = 12
"""Positions one after the other without a proven win, before which `threats` looks at no more of a game."""
_FEWEST_PLIES = 3
"""Plies of a puzzle, so that its first move does not win at once."""


class Puzzle(NamedTuple):
    """A position of a game in which one move wins, and all others do not."""

    ply: int
    """The number of moves of the game before it."""
    line: tuple[int, ...]
    """The move, and those after it if both sides play best, until the win."""
    exact: bool
    """Whether no way to the win is shorter; else the other side can perhaps not hold out as long."""

    @property
    def moves(self) -> int:
        """The number of the winner's moves."""
        return (len(self.line) + 1) // 2


def puzzles_in(variant: Variant, moves: Sequence[int], first: int) -> list[Puzzle]:
    """Return the puzzles of a game, in order, from the position after `first` moves on.

    The same game has the same puzzles in every process, if the same extras are installed. If a player found the move of
    a puzzle, the later moves of the same attack are no puzzles of their own.
    """
    analyst = Analyst(variant, effort=_EFFORT, nodes=_NODES)
    puzzles: dict[int, Puzzle] = {}
    without_win = 0
    # From the end, because late positions are solved most easily.
    for ply in range(len(moves) - 1, first - 1, -1):
        position = Position.after(variant, moves[:ply])
        verdict = analyst.only_win(position)
        if verdict is None or verdict.result is None:
            without_win += 1
            if without_win == _GIVES_UP_AFTER and not can_solve(position):
                break
            continue
        without_win = 0
        if verdict.best and verdict.plies is not None and verdict.plies >= _FEWEST_PLIES:
            line = (verdict.best[0], *analyst.line((*moves[:ply], verdict.best[0])))
            end = Position.after(variant, (*moves[:ply], *line)).outcome()
            if end is not None and end.winner == position.side:
                puzzles[ply] = Puzzle(ply, line, verdict.exact)
    return [
        puzzle
        for ply, puzzle in sorted(puzzles.items())
        if ply - 2 not in puzzles or puzzles[ply - 2].line[0] != moves[ply - 2]
    ]
