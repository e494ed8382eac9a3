"""A bot for tests of clusters, as a file of its own, because sandboxed children read it, too."""

import time

from noughts_bots import Bot, Move, Position


class Unhurried(Bot):
    """Sleeps and plays the lowest cell, so that a cluster can be tested on few cores."""

    seconds = 0.002

    def choose(self, position: Position) -> int:
        time.sleep(self.seconds)
        return position.free[0]


class Hasty(Unhurried):
    """The same without a pause."""

    seconds = 0.0


class Thinking(Unhurried):
    """An engine that takes its time, on a core of its own."""

    seconds = 0.25


class Resigned(Bot):
    """Reports a lost position with each move."""

    def choose(self, position: Position) -> Move:
        return Move(position.free[0], -700.0)


class Silent(Unhurried):
    """Does not answer while a test runs."""

    seconds = 3_600.0


class Talkative(Bot):
    """Comments each of the moves of thousands of games at length."""

    max_games = 4_000

    def choose(self, position: Position) -> Move:
        return Move(position.free[0], comment="x" * 2_000)
