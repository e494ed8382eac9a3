"""Who watches games being played."""

from collections.abc import Sequence
from typing import Protocol

from noughts_referee.game import Game


class Observer(Protocol):
    """Who watches games being played. Called in the middle of the play: it must be quick and raise nothing.

    The games it is shown belong to the arbiter; it only reads them.
    """

    def began(self, game: Game) -> None:
        """A game has begun."""

    def answered(self, games: Sequence[int], plies: Sequence[int], scores: Sequence[tuple[int, float]]) -> None:
        """Answers were judged: the handles of their games, each of which got one ply further at most.

        `plies` are those that the player meant to answer, `scores` what it thinks of its positions: (index in these
        columns, finite score).
        """

    def ended(self, games: Sequence[Game]) -> None:
        """Games are over; their last plies were among those answered."""
