"""The matches of a bracket: the values that formats give and people see."""

from dataclasses import dataclass
from enum import StrEnum


class Decision(StrEnum):
    """Why a match is over. The values are for people."""

    BYE = "bye"
    POINTS = "points"
    EXTRA_PAIR = "extra pair"
    FORFEITS = "fewer forfeits"
    SEED = "better seed"
    WALKOVER = "walkover"


@dataclass(frozen=True, slots=True)
class Match:
    """One place of the bracket. Entries count from 0; None where they are not known yet, or a bye."""

    round: int
    """From 1."""
    first: int | None
    """Who comes from the upper half of this part of the bracket."""
    second: int | None
    first_points: float = 0.0
    second_points: float = 0.0
    games: int = 0
    winner: int | None = None
    decision: Decision | None = None
    """None: it is not over."""

    @property
    def open(self) -> bool:
        """Both are known, and it is not decided."""
        return self.first is not None and self.second is not None and self.winner is None


BracketRound = tuple[Match, ...]
"""From the top of the bracket to its bottom."""
