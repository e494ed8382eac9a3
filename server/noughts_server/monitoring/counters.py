"""The measurements of a server or a referee of a cluster, as plain counters that are read on demand.

They are updated once for each commit, second or tick of the timer, never for a single game or move.
"""

import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from noughts_referee.referee_protocols import RefereeCounts
from noughts_server.runtime.endless_work import running
from noughts_server.store.games.results import CommitReport
from noughts_server.store.nodes import BEAT_SECONDS

_TICKS_A_SECOND = 50
"""Checks of the event loop for delays in each second."""
_LEAST_SECONDS = 0.1
"""The shortest time over which a rate is computed: shorter ones count as this one."""
_RATE_SECONDS = 10
"""Seconds over which rates are averaged."""
_HISTORY_SECONDS = 60

_TERMINATION = attrgetter("termination")


class Distribution:
    """Counts of observed values by bucket, as in Prometheus."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        """The upper limit of each bucket, ascending; one more bucket has larger values."""
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0
        """The sum of all values."""
        self.latest: deque[float] = deque(maxlen=100)

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
        self.latest.append(value)

    @property
    def worst(self) -> float:
        """The largest of the last hundred values; 0 without values."""
        return max(self.latest, default=0.0)


class _Progress(NamedTuple):
    """The stored games of a tournament at a time of the monotonic clock, in seconds."""

    time: float
    games: int


class Sample(NamedTuple):
    """The counters at a time of the monotonic clock, in seconds."""

    time: float
    games: int
    plies: int


class Counters:
    """The measurements since the start of the process."""

    def __init__(self, referee: RefereeCounts, clock: Callable[[], float] = time.monotonic) -> None:
        """Create the counters. `clock` gives seconds that never decrease."""
        self.started = datetime.now(UTC)
        self.draining = False
        self.games = 0
        self.terminations: Counter[int] = Counter()
        """Stored games by termination."""
        self.errors: Counter[str] = Counter()
        """Calls that ended with an error, by its reason."""
        self.refused: Counter[str] = Counter()
        """Calls that exceeded a limit, by its name."""
        self.commits = Distribution((0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5))
        """Durations of commits in seconds."""
        self.commit_games = Distribution((1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000))
        self.lag = Distribution((0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2))
        """Delays of the event loop's timer in seconds."""
        self.heartbeats = Distribution((0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10))
        """Delays of heartbeats in a cluster in seconds."""
        self._referee = referee
        self._clock = clock
        self._began = clock()
        self._samples: deque[Sample] = deque([self._sample()], maxlen=_HISTORY_SECONDS + 1)
        self._progress: dict[int, deque[_Progress]] = {}
        """By running tournament, its numbers of stored games over the last minute, at most one for each second."""

    @asynccontextmanager
    async def measuring(self) -> AsyncIterator[None]:
        """Measure the event loop inside the block."""
        async with running(self._tick()):
            yield

    @property
    def uptime(self) -> float:
        """The seconds since the start."""
        return self._clock() - self._began

    def rates(self) -> tuple[float, float]:
        """Return the games and plies a second over the last ten seconds."""
        last = self._sample()
        first = self._samples[-min(_RATE_SECONDS, len(self._samples))]
        seconds = max(last.time - first.time, _LEAST_SECONDS)
        return (last.games - first.games) / seconds, (last.plies - first.plies) / seconds

    def plies_history(self) -> list[float]:
        """Return the plies a second in each of up to sixty last seconds, oldest first."""
        samples = list(self._samples)
        return [
            (after.plies - before.plies) / max(after.time - before.time, _LEAST_SECONDS)
            for before, after in pairwise(samples)
        ]

    def tournament_rate(self, tournament: int) -> float:
        """Return the stored games a second of a running tournament, over the last minute.

        If it stands still, the rate falls to 0 within that minute; it is also 0 during the first second.
        """
        history = self._progress.get(tournament)
        if not history:
            return 0.0
        now = self._clock()
        last = history[-1]
        first = next((progress for progress in history if now - progress.time <= _HISTORY_SECONDS), last)
        seconds = now - first.time
        return (last.games - first.games) / seconds if seconds >= 1 else 0.0

    async def _tick(self) -> None:
        ticks = 0

        def observe(delay: float) -> None:
            nonlocal ticks
            self.lag.observe(delay)
            ticks += 1
            if ticks == _TICKS_A_SECOND:
                ticks = 0
                self._samples.append(self._sample())

        await self._referee.stalls.watch(1 / _TICKS_A_SECOND, observe)

    def _sample(self) -> Sample:
        return Sample(self._clock(), self.games, self._referee.plies)

    def count_heartbeat(self, silent_seconds: float) -> None:
        """Count a heartbeat of this node, which followed the previous one after so many seconds."""
        self.heartbeats.observe(max(0.0, silent_seconds - BEAT_SECONDS))

    def count_commit(self, report: CommitReport) -> None:
        self.games += len(report.games)
        self.terminations.update(map(_TERMINATION, report.games))
        self.commits.observe(report.seconds)
        self.commit_games.observe(len(report.games))
        now = self._clock()
        for progress in report.progress:
            if progress.finished:
                self._progress.pop(progress.tournament, None)
                continue
            history = self._progress.get(progress.tournament)
            if history is None:
                self._forget_old(now)
                history = self._progress[progress.tournament] = deque(maxlen=_HISTORY_SECONDS)
            if not history or now - history[-1].time >= 1:
                history.append(_Progress(now, progress.games_done))

    def _forget_old(self, now: float) -> None:
        """Delete the progress of tournaments without recent games: a cancelled one never counts as finished."""
        old = [key for key, history in self._progress.items() if now - history[-1].time > _HISTORY_SECONDS]
        for key in old:
            del self._progress[key]
