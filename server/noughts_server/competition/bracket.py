"""The matches of a bracket, which formats return and users see."""

from dataclasses import dataclass
from enum import StrEnum


class Decision(StrEnum):
    """Why a match is over. Users see the values."""

    BYE = "bye"
    POINTS = "points"
    EXTRA_PAIR = "extra pair"
    FORFEITS = "fewer forfeits"
    SEED = "better seed"
    WALKOVER = "walkover"


@dataclass(frozen=True, slots=True)
class Match:
    """A match of the bracket. Entries count from 0; None while unknown, and for a bye."""

    round: int
    first: int | None
    """The entry from the upper half of this part of the bracket."""
    second: int | None
    first_points: float = 0.0
    second_points: float = 0.0
    games: int = 0
    winner: int | None = None
    decision: Decision | None = None
    """None while unfinished."""

    @property
    def open(self) -> bool:
        """Return whether both entries are known and the match is undecided."""
        return self.first is not None and self.second is not None and self.winner is None


BracketRound = tuple[Match, ...]
"""From the top of the bracket to its bottom."""
