"""The matches of a bracket, or the pairings of rounds, which formats return and users see."""

from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

Side = TypeVar("Side")


class Decision(StrEnum):
    """The reason why a match is over. Users see the values."""

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
    """The side from the upper half of this part of the bracket; None while it is unknown, or if `second` has a bye."""
    second: Side | None
    """The other side; None while it is unknown, or if `first` has a bye."""
    first_points: float = 0.0
    second_points: float = 0.0
    games: int = 0
    winner: Side | None = None
    """None while the match is unfinished. A drawn pairing of a round has none either."""
    decision: Decision | None = None
    """None while the match is unfinished."""
    games_left: int = 0
    """The number of its scheduled games that are not over."""
    next_game: int = 0
    """The number of the first of these games; 0 if there is none."""

    @property
    def is_open(self) -> bool:
        """Return whether both entries are known and the match is undecided."""
        return self.first is not None and self.second is not None and self.winner is None


BracketRound = tuple[Match[int], ...]
"""The matches of a round, from the top of the bracket to its bottom."""
