"""The number of a test's games to play at once, derived from how long its games take.

A bot that needs 40 ms for a move gains nothing from a thousand concurrent games: all of them end late, and together.
A bot that answers in microseconds needs many, so that a frame carries many questions. So a test begins with one pair
of games. It doubles while its games are quick, or while more concurrent games do not make each of them slower.
"""

_FEWEST = 2
"""A pair of games."""
_QUICK_SECONDS, _SLOW_SECONDS = 0.5, 2.0
_LONGER = 1.5
"""If twice as many games take this many times as long, they gain nothing."""
_FULL = 0.7
"""This part of the allowed games must have been running for the measurement to mean anything."""
_PATIENCE = 16
"""After this many measurements at one number, the larger one is tried again."""


class Pace:
    """The number of concurrent games of one test. The caller reports the games whenever they change."""

    def __init__(self, now: float) -> None:
        """`now` and all later times are in seconds."""
        self.games = _FEWEST
        """The number of games that can run at once."""
        self._seconds: dict[int, float] = {}
        """The measured length of a game, by concurrent games."""
        self._repeated = 0
        self._has_changed = False
        """Whether some of the running games began at another number."""
        self._begin(now, 0)
        self._running = 0

    def _begin(self, now: float, finished: int) -> None:
        self._began = self._looked = now
        self._before = finished
        self._area = 0.0

    def look(self, now: float, finished: int, running: int) -> None:
        """Count the finished games since the beginning and the running ones, and change `games` if that is due."""
        self._area += self._running * (now - self._looked)
        self._looked, self._running = now, running
        ended = finished - self._before
        if ended < self.games or now <= self._began:
            return
        # Little's law: the mean number of running games is the rate at which they end times their length.
        mean = self._area / (now - self._began)
        if self._has_changed:
            self._has_changed = False
        elif mean >= _FULL * self.games:
            self._decide(self._area / ended)
        self._begin(now, finished)

    def _decide(self, seconds: float) -> None:
        games, known = self.games, self._seconds
        known[games] = seconds
        self._repeated += 1
        if self._repeated >= _PATIENCE:
            known.pop(2 * games, None)
        fewer, more = known.get(games // 2), known.get(2 * games)
        useless = fewer is not None and seconds >= _LONGER * fewer
        if seconds <= _QUICK_SECONDS or not (useless or (more is not None and more >= _LONGER * seconds)):
            self._change(2 * games)
        elif useless and seconds > _SLOW_SECONDS:
            self._change(games // 2)

    def _change(self, games: int) -> None:
        self.games = games
        self._repeated = 0
        self._has_changed = True
