"""The interface for watching games."""

from collections.abc import Sequence
from typing import Protocol

from noughts_referee.game import Game


class Observer(Protocol):
    """An observer of running games. It is called during play: it must be fast, raise nothing and change no game."""

    def began(self, game: Game) -> None:
        """A game has begun."""

    def answered(self, games: Sequence[int], plies: Sequence[int], scores: Sequence[tuple[int, float]]) -> None:
        """Answers to these games were judged. Each game advanced by one ply at most.

        `games` are handles, `plies` what the player meant to answer, `scores` its finite scores as (index, score).
        """

    def ended(self, games: Sequence[Game]) -> None:
        """Games are over. Their last plies were in an earlier `answered`."""
