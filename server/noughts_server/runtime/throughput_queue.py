"""Which of the running tournaments with a throughput gets the next games of this process's referee.

Stride scheduling: C. A. Waldspurger and W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource
Management", MIT/LCS/TM-528, 1995. A tournament's pass is the number of its games divided by its throughput. Of those
with the highest priority, the one with the smallest pass is next.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions
from noughts_server.competition.tournament_settings import TournamentSettings

# So many turns fill the referee: few enough for large frames, and enough for small differences between shares.
_TURNS = 16
# So many games of a tournament that shares with no other wait in the referee, so that frames are large.
_MOST_WAITING = 64
# A tournament whose bots had no free seats can catch up on so many turns.
_TURNS_OWED = 4


@dataclass(eq=False, slots=True)
class _Share:
    key: int
    passed: float
    settings: TournamentSettings
    timed: bool = False
    seats: int = 0
    """The games that its bots can play at once."""
    turn: asyncio.Future[int] | None = None
    """Its turn, for which it waits or which it has."""


class ThroughputQueue:
    """Gives turns to tournaments, as long as fewer games are running than the bots of one of them can play at once.

    More games would begin as soon as seats are free, and then the seats of the bots would decide the shares.
    """

    def __init__(self, referee: Referee) -> None:
        self.seats = 1
        """Games with clocks that the processors of this machine can play at once."""
        self._referee = referee
        self._shares: dict[int, _Share] = {}
        self._holder: _Share | None = None
        self._passed = 0.0
        """The pass of the last turn, with which new tournaments begin."""

    @asynccontextmanager
    async def turn(self, settings: TournamentSettings, playing: GameConditions) -> AsyncIterator[int]:
        """Wait for the tournament's turn, which ends with the block. Yield how many games it has; 0 if skipped."""
        key, timed, loop = playing.tournament, playing.timed, asyncio.get_running_loop()
        share = self._shares.setdefault(key, _Share(key, self._passed, settings))
        seats = [self._referee.player(version).seats(timed) for version in playing.players]
        share.seats = min(playing.concurrency, sum(seats) // 2, sum(seats) - max(seats))
        share.settings, share.timed, share.turn = settings, timed, loop.create_future()
        self.look()
        try:
            yield await share.turn
        finally:
            share.turn = None
            if self._holder is share:
                self._holder = None
            # Later, so that it can ask for its next turn before another gets one.
            loop.call_soon(self.look)

    def handed_out(self, key: int, games: int) -> None:
        """Count games of the tournament whose turn it is."""
        share = self._shares[key]
        share.passed += games / share.settings.throughput

    def skip(self, key: int) -> None:
        """End the wait of a tournament, which has changed."""
        share = self._shares.get(key)
        if share is not None and share.turn is not None and not share.turn.done():
            share.turn.set_result(0)

    def leave(self, key: int) -> None:
        """Forget a tournament that is not played any more; the others get its share."""
        if self._shares.pop(key, None) is not None:
            self.look()

    def look(self) -> None:
        """Give the next turn, if games can begin: games have begun or ended, or a tournament waits or has left."""
        if self._holder is not None or not self._shares:
            return
        free = {timed: self._free(timed) for timed in (False, True)}
        ready: list[tuple[int, float, _Share, int]] = []
        for share in self._shares.values():
            if share.turn is not None and not share.turn.done():
                queued, (size, room) = self._referee.queued(share.key), free[share.timed]
                if queued < size and queued < room:
                    ready.append((-share.settings.priority, share.passed, share, size))
        if ready:
            _, _, share, size = min(ready, key=lambda each: each[:2])
            share.passed = max(share.passed, self._passed - _TURNS_OWED * size / share.settings.throughput)
            self._passed = max(self._passed, share.passed)
            self._holder = share
            assert share.turn is not None
            share.turn.set_result(size)

    def _free(self, timed: bool) -> tuple[int, int]:
        """Return the games of a turn, and how many more can begin now, or wait if they are those of one tournament."""
        alike = [share for share in self._shares.values() if share.timed is timed]
        most = max(self.seats if timed else 1, *(share.seats for share in alike), 1)
        running = sum(self._referee.in_flight(share.key) for share in alike)
        if len(alike) > 1:
            return max(1, most // _TURNS), most - running
        waiting = min(_MOST_WAITING, most // 4)
        return max(1, waiting), most + waiting - running
