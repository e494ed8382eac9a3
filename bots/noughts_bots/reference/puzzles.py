"""Puzzles in games: positions in which exactly one move wins, or wins by continuous fours. Both are proven."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from noughts_bots.reference.analysis import Analyst
from noughts_bots.reference.exact import can_solve
from noughts_bots.reference.threats.bot import ThreatsBot
from noughts_bots.reference.threats.continuous_fours import ContinuousFours
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_referee.rules import Position, Variant, covers

_EFFORT = 20_000
"""The effort of the exact search for a game, see `Analyst`."""
_NODES = 2_000
"""Positions that `threats` visits for each question."""
_GIVES_UP_AFTER = 12
"""After this many positions in a row without a proven win, `threats` searches no further positions of a game."""
_FEWEST_PLIES = 3
"""Plies of a puzzle, so that its first move does not win at once."""
# Limits of the search for wins by continuous fours, in fours. A position that needs more is not a puzzle.
_FOURS_OF_A_POSITION = 20_000
_FOURS_OF_A_GAME = 200_000


class PuzzleKind(IntEnum):
    """The property that only the first move of a puzzle has. The numbers are stored."""

    WIN = 1
    """It wins; every other move is proven not to win."""
    CONTINUOUS_FOURS = 2
    """It wins by continuous fours (see `threats.continuous_fours`). All fours were searched: no other move does."""


class Puzzle(NamedTuple):
    """A position of a game in which exactly one move has the property of the kind."""

    ply: int
    """The number of moves of the game before it."""
    line: tuple[int, ...]
    """The move, and those after it if both sides play best, until the win."""
    exact: bool
    """Whether the line is as short as possible for the winner and as long as possible for the loser."""
    kind: PuzzleKind

    @property
    def moves(self) -> int:
        """The number of the winner's moves."""
        return (len(self.line) + 1) // 2


def puzzles_in(variant: Variant, moves: Sequence[int], first: int) -> list[Puzzle]:
    """Return the puzzles of a game, in order, from the position after `first` moves on.

    The same game has the same puzzles in every process, if the same extras are installed. If a player found the move of
    a puzzle, the later moves of the same attack are not separate puzzles.
    """
    search = _PuzzleSearch(variant)
    # From the end, because late positions are solved most easily.
    found = (search.puzzle(moves, ply) for ply in range(len(moves) - 1, first - 1, -1))
    puzzles = {puzzle.ply: puzzle for puzzle in found if puzzle is not None}
    return [
        puzzle
        for ply, puzzle in sorted(puzzles.items())
        if ply - 2 not in puzzles or puzzles[ply - 2].line[0] != moves[ply - 2]
    ]


class _PuzzleSearch:
    """Searches the positions of a game, from the last to the first."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self._analyst = Analyst(variant, effort=_EFFORT, nodes=_NODES)
        self._positions_without_win = 0
        """The number of positions in a row, up to the last one, without a proven win."""
        self._fours = ContinuousFours(variant) if covers(ThreatsBot.variants, variant.name) else None
        self._fours_left = _FOURS_OF_A_GAME

    def puzzle(self, moves: Sequence[int], ply: int) -> Puzzle | None:
        """Return the position after `ply` moves as a puzzle; None if it is not a puzzle."""
        position = Position.after(self._variant, moves[:ply])
        if can_solve(position):
            return self._only_win(position)
        if self._positions_without_win < _GIVES_UP_AFTER and (puzzle := self._only_win(position)):
            return puzzle
        return self._only_win_by_fours(position)

    def _only_win(self, position: Position) -> Puzzle | None:
        verdict = self._analyst.only_win(position)
        if verdict is None or verdict.result is None:
            self._positions_without_win += 1
            return None
        self._positions_without_win = 0
        if not verdict.best or verdict.plies is None or verdict.plies < _FEWEST_PLIES:
            return None
        moves = (*position.moves, verdict.best[0])
        line = (verdict.best[0], *self._analyst.line(moves))
        end = Position.after(self._variant, (*position.moves, *line)).outcome()
        if end is None or end.winner != position.side:
            return None
        return Puzzle(position.ply, line, verdict.exact, PuzzleKind.WIN)

    def _only_win_by_fours(self, position: Position) -> Puzzle | None:
        if self._fours is None:
            return None
        effort = Effort(min(_FOURS_OF_A_POSITION, self._fours_left))
        try:
            win = self._fours.wins(position, effort)
        except EffortSpent:
            return None
        finally:
            self._fours_left -= effort.nodes
        if win is None or len(win.first_moves) > 1:
            return None
        return Puzzle(position.ply, win.line, exact=False, kind=PuzzleKind.CONTINUOUS_FOURS)
