"""Bots whose moves a test releases one by one, and one that fails."""

import threading

from noughts_bots import Bot, Move, Position
from tests.support.browser import PATIENCE_MS


class Stepwise(Bot):
    """Plays the first free cell once for each `steps.release()` of the test."""

    def __init__(self) -> None:
        self.steps = threading.Semaphore(0)

    def choose(self, position: Position) -> int | Move:
        assert self.steps.acquire(timeout=PATIENCE_MS / 1000)
        return position.free[0]


class Talking(Stepwise):
    """A `Stepwise` bot that also reports a score with each move."""

    def choose(self, position: Position) -> Move:
        cell = super().choose(position)
        assert isinstance(cell, int)
        return Move(cell, float(position.ply))


class Failing(Bot):
    """Raises an exception at its second move."""

    def choose(self, position: Position) -> int:
        if position.ply > 1:
            raise RuntimeError("the search failed " * 20)
        return position.free[0]
