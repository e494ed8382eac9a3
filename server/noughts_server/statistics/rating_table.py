"""A table of batch ratings, fitted here or sent by a server. Nothing heavy is loaded for it."""

from dataclasses import dataclass
from enum import Enum

PRIOR_DRAWS = 2
"""Virtual draws of each player against the pool's mean, where a prior is asked for: one with either side."""


class AdvantageBound(Enum):
    """Whether the games bound what moving first is worth."""

    FINITE = "finite"
    ABOVE_ALL = "above all"
    """The first mover's results are as good as they can be: no advantage would be too large."""
    BELOW_ALL = "below all"
    """The same of the second mover."""
    CONFOUNDED = "confounded"
    """Who moves first goes with who is who: the two cannot be told apart."""


@dataclass(frozen=True, slots=True)
class RatedPlayer:
    """A player's line. None where there is nothing to tell."""

    rank: int
    """Within its group, from 1."""
    name: str
    rating: float | None
    """None if it cannot be compared with anybody."""
    error95: float | None
    """Half the width of the 95 % interval, relative to the group's mean or to the anchors; 0 for an anchor."""
    games: int
    wins: int
    draws: int
    losses: int
    opposition: float | None
    """The mean rating of its opponents, by games; of those that are on one scale with it."""
    los_next: float | None
    """The likelihood that it is stronger than the next one of its group."""
    group: int
    """The number of its group, from 0; bots that took points off each other, and all anchors, are in one."""
    anchored: bool

    @property
    def points(self) -> float:
        """One for a win, half of one for a draw."""
        return self.wins + self.draws / 2


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Ratings of players from all their games at once."""

    players: tuple[RatedPlayer, ...]
    """Group by group, each from the strongest down."""
    games: int
    draw_rate: float | None
    advantage: float | None
    """What moving first is worth, in Elo; None where the games do not bound it."""
    advantage_error95: float | None
    bound: AdvantageBound
    prior: bool
    """Whether each player had two virtual draws against the pool."""

    @property
    def groups(self) -> list[list[str]]:
        """The names of each group, the strongest first. Ratings of different groups cannot be compared by the games."""
        number = max((player.group for player in self.players), default=-1) + 1
        return [[player.name for player in self.players if player.group == group] for group in range(number)]
