"""One played game as tables need it, wherever it was kept: in a file, a database, or at a server."""

from collections.abc import Sequence
from typing import NamedTuple


class GameRecord(NamedTuple):
    """A played game."""

    variant: str
    first: str
    """Labels of the entries; `first` moved first."""
    second: str
    seed: int
    moves: Sequence[int]
    """Cells in the order played, the opening's among them."""
    result: str
    """`1-0`, `1/2-1/2`, `0-1`, or `*` of a void game."""
    termination: str
    times_us: Sequence[int] = ()
    """Thinking time of each move in microseconds; empty where it was not kept."""
    opening: Sequence[int] = ()
    """The moves that were on the board when the game began, which nobody chose."""
    agreed: int = 0
    """How many of the first moves were put by agreement (swap, swap2)."""
    fault: str = ""
    """Why the loser lost, if by its own doing: a phrase that follows "it"."""
    date: str = ""
    """When it was played, e.g. `2026-11-24`; empty if that was not kept."""

    @property
    def first_chosen(self) -> int:
        """The first ply, from 0, that was a side's own move with a thinking time of its own."""
        return max(len(self.opening), self.agreed)
