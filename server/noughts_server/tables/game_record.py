"""A played game as tables need it, from a file, a database or a server."""

from collections.abc import Sequence
from typing import NamedTuple


class GameRecord(NamedTuple):
    variant: str
    first: str
    """Labels of the entries; `first` moved first."""
    second: str
    seed: int
    moves: Sequence[int]
    """Cells in playing order, including the opening."""
    result: str
    """`1-0`, `1/2-1/2`, `0-1`, or `*` for a void game."""
    termination: str
    times_us: Sequence[int] = ()
    """The time of each move in microseconds; empty if unknown."""
    opening: Sequence[int] = ()
    """The first moves, which neither side chose."""
    agreed: int = 0
    """How many of the first moves were placed by agreement (swap, swap2)."""
    fault: str = ""
    """Why the loser lost through its own fault: a phrase that follows "it"."""
    date: str = ""
    """The date of the game, e.g. `2026-11-24`; empty if unknown."""

    @property
    def first_chosen(self) -> int:
        """Return the first ply, from 0, that a side chose alone and with a time of its own."""
        return max(len(self.opening), self.agreed)
