"""The matches of a bracket, which formats return and users see."""

from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

Side = TypeVar("Side")


class Decision(StrEnum):
    """Why a match is over. Users see the values."""

    BYE = "bye"
    POINTS = "points"
    EXTRA_PAIR = "extra pair"
    FORFEITS = "fewer forfeits"
    SEED = "better seed"
    WALKOVER = "walkover"


class Match(NamedTuple, Generic[Side]):
    """A match of a bracket, or a pairing of a round. Its sides are entries, which count from 0, or their labels."""

    round: int
    first: Side | None
    """The side from the upper half of this part of the bracket; like the other one, None while unknown."""
    second: Side | None
    """None also if the other side has a bye."""
    first_points: float = 0.0
    second_points: float = 0.0
    games: int = 0
    winner: Side | None = None
    """None while unfinished, and (in a round only) if it is drawn."""
    decision: Decision | None = None
    """None while unfinished."""

    @property
    def open(self) -> bool:
        """Return whether both entries are known and the match is undecided."""
        return self.first is not None and self.second is not None and self.winner is None


BracketRound = tuple[Match[int], ...]
"""From the top of the bracket to its bottom."""
