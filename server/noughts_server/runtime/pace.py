"""The number of concurrent games of a test, derived from the duration of its games.

For a bot that needs 40 ms for a move, a thousand concurrent games only end later, all together. A bot that answers in
microseconds needs many concurrent games, so that a frame carries many questions. So a test begins with one pair of
games. The number doubles while the games are quick, or while more games do not make each of them slower.
"""

_FEWEST = 2
"""A pair of games."""
# Up to the first number of seconds a game is quick; above the second, slow games reduce the number.
_QUICK_SECONDS = 0.5
_SLOW_SECONDS = 2.0
_LONGER = 1.5
"""If twice as many games make each one take this many times as long, the larger number is not worth it."""
_FULL = 0.7
"""A measurement counts only if on average at least this share of the allowed games was running."""
_REPEATS = 16
"""After this many measurements with the same number of games, twice the number is tried again."""


class Pace:
    """The number of concurrent games of one test. The caller reports the games whenever they change."""

    def __init__(self, now: float) -> None:
        """`now` and all later times are in seconds."""
        self.games = _FEWEST
        """The number of games that can run at once."""
        self._seconds: dict[int, float] = {}
        """The measured length of a game, by concurrent games."""
        self._repeats = 0
        """The number of measurements at the present number of games."""
        self._has_changed = False
        """Whether some of the running games began at another number."""
        self._begin_period(now, 0)
        self._running = 0

    def _begin_period(self, now: float, finished: int) -> None:
        """Begin a measurement; `finished` is the number of games that have ended before it."""
        self._period_start = self._last_time = now
        self._finished_before = finished
        self._game_seconds = 0.0
        """The sum of the running time of all games in this period."""

    def update(self, now: float, finished: int, running: int) -> None:
        """Note the games that have finished since the start, and those that run. Change `games` if that is due."""
        self._game_seconds += self._running * (now - self._last_time)
        self._last_time, self._running = now, running
        ended = finished - self._finished_before
        if ended < self.games or now <= self._period_start:
            return
        # Little's law: the mean number of running games is the rate at which they end times their length.
        mean = self._game_seconds / (now - self._period_start)
        if self._has_changed:
            self._has_changed = False
        elif mean >= _FULL * self.games:
            self._compare(self._game_seconds / ended)
        self._begin_period(now, finished)

    def _compare(self, seconds: float) -> None:
        games, seconds_of = self.games, self._seconds
        seconds_of[games] = seconds
        self._repeats += 1
        if self._repeats >= _REPEATS:
            seconds_of.pop(2 * games, None)
        fewer, more = seconds_of.get(games // 2), seconds_of.get(2 * games)
        gains_nothing = fewer is not None and seconds >= _LONGER * fewer
        if seconds <= _QUICK_SECONDS or not (gains_nothing or (more is not None and more >= _LONGER * seconds)):
            self._change(2 * games)
        elif gains_nothing and seconds > _SLOW_SECONDS:
            self._change(games // 2)

    def _change(self, games: int) -> None:
        self.games = games
        self._repeats = 0
        self._has_changed = True
