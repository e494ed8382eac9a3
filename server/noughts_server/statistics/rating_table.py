"""A table of batch ratings, computed here or sent by a server. It imports nothing large."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

PRIOR_DRAWS = 2
"""Virtual draws of each player against the pool's mean with a prior: one on either side."""


class AdvantageBound(Enum):
    """Whether the games bound the first-move advantage."""

    FINITE = "finite"
    ABOVE_ALL = "above all"
    """The first movers' results are perfect: no advantage would be too large."""
    BELOW_ALL = "below all"
    """The same for the second movers."""
    CONFOUNDED = "confounded"
    """The first-move advantage cannot be separated from the players' strengths."""


class Estimate(NamedTuple):
    """A rating in a view of a leaderboard, under the names of the protocol, with the ranks that the games allow."""

    view_rating: float
    view_error95: float
    rank_low: int | None = None
    rank_high: int | None = None


@dataclass(frozen=True, slots=True)
class RatedPlayer:
    """A player's row. Fields are None if unknown."""

    rank: int
    """Within its group, from 1."""
    name: str
    rating: float | None
    """None if it cannot be compared with any other player."""
    error95: float | None
    """Half the width of the 95 % confidence interval, relative to the group's mean or the anchors; 0 for an anchor."""
    games: int
    wins: int
    draws: int
    losses: int
    opposition: float | None
    """The mean rating of its opponents on the same scale, by games."""
    los_next: float | None
    """The likelihood that it is stronger than the next player of its group."""
    group: int
    """The number of its group, from 0; players that took points off each other, and all anchors, share one."""
    anchored: bool

    @property
    def points(self) -> float:
        """Return the points: 1 for a win, 1/2 for a draw."""
        return self.wins + self.draws / 2


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Ratings of players from all their games at once."""

    players: tuple[RatedPlayer, ...]
    """Group by group, each from the strongest down."""
    games: int
    draw_rate: float | None
    advantage: float | None
    """The first-move advantage in Elo; None if the games do not bound it."""
    advantage_error95: float | None
    bound: AdvantageBound
    prior: bool
    """Whether each player had two virtual draws against the pool."""

    @property
    def groups(self) -> list[list[str]]:
        """Return the names of each group, strongest first. The games cannot compare ratings of different groups."""
        number = max((player.group for player in self.players), default=-1) + 1
        return [[player.name for player in self.players if player.group == group] for group in range(number)]
