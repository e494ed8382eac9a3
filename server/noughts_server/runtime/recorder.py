"""Store finished games in groups: one commit for all that have accumulated, so that a game costs microseconds.

The same commits keep the journal: the moves so far of games with long time controls.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog

from noughts_referee.game import Game
from noughts_referee.work_units import FinishedGame, GameSoFar
from noughts_server.core.errors import DatabaseDamaged, Draining
from noughts_server.runtime.bus import Bus
from noughts_server.runtime.endless_work import running, wait_until_set
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.results import CommitReport, commit_games
from noughts_server.store.ratings.rater import FoldingState

logger = structlog.get_logger("noughts.recorder")

# The bus subjects of the reports of commits.
COMMITTED = "games.committed"
"""Complete reports, for servers: of all processes of a cluster."""
COMMITTED_HERE = "games.committed_here"
"""Complete reports of this process."""
PROGRESSED = "tournaments.progressed"
"""Reports without games, for referees: of all processes, but only what referees must learn of."""
DAMAGED = "games.damaged"
"""The bus subject of tournaments whose games cannot be stored. A message is the tournament's key and the error."""
# Limits of the interval between two commits of a process. A crash loses what happened since the last one.
COMMIT_SECONDS = 0.25
LONGEST_COMMIT_SECONDS = 2.0
_COMMITS_A_SECOND = 64
"""The commits of all referees of a cluster together in a second, up to the longest interval."""
STORE_SECONDS = 10.0
"""Seconds for which a process that stops waits for an unavailable database."""


def commit_interval(referees: int) -> float:
    """Return the seconds between two commits of a referee if this many referees are alive.

    The database stores one commit at a time. Up to 16 referees commit every 0.25 s, 64 every second, and 128 or more
    every 2 s.
    """
    return min(max(COMMIT_SECONDS, referees / _COMMITS_A_SECOND), LONGEST_COMMIT_SECONDS)


@asynccontextmanager
async def recording(
    store: Store, bus: Bus, store_wait_seconds: float = STORE_SECONDS, *, referee: str = "", machine: str = ""
) -> AsyncIterator["Recorder"]:
    """Run a recorder inside the block and publish its reports. `referee` is the node's name in a cluster.

    `machine` is the host that plays; empty: its games are not compared with those of others. At the end the recorder
    waits at most `store_wait_seconds` for an unavailable store, so that the server can stop.
    """

    def publish(report: CommitReport) -> None:
        bus.publish(COMMITTED_HERE, report)
        bus.publish(COMMITTED, report)
        progress = [each for each in report.progress if each.concerns_referees]
        if progress:
            bus.publish(PROGRESSED, CommitReport(progress=progress))

    recorder = Recorder(
        store, publish, on_damage=lambda *damaged: bus.publish(DAMAGED, damaged), referee=referee, machine=machine
    )
    async with running(recorder.run()):
        try:
            yield recorder
        finally:
            store.limit_retries(store_wait_seconds)
            await recorder.close()


class _TrialSucceeded(Exception):  # noqa: N818  # not an error
    """Raised to roll back a trial that succeeded."""


@dataclass(eq=False)
class Recorder:
    """Accepts games without blocking, and commits them in `run`. Use it from one event loop."""

    store: Store
    publish: Callable[[CommitReport], None]
    """Called after each commit, in the event loop."""
    on_damage: Callable[[int, DatabaseDamaged], None] = lambda tournament, error: None
    """Called with the key of a tournament whose part of the database is damaged, so that its games cannot be stored."""
    on_commit: Callable[[CommitReport], None] = lambda report: None
    """Called after each commit of this process with its report. In a cluster, `publish` also tells other processes."""
    on_settled: Callable[[list[FinishedGame], list[FinishedGame]], None] = lambda games, stored: None
    """Called after each commit with its games, and with those that were stored."""
    interval_seconds: float = COMMIT_SECONDS
    """Seconds from the beginning of one commit to that of the next."""
    backlog_limit: int = 50_000
    """If more games than this are not committed yet, `wait_for_space` waits."""
    referee: str = ""
    """The node's name in a cluster."""
    machine: str = ""
    """The host that plays; empty: its games are not compared with those of other machines."""

    def __post_init__(self) -> None:
        self._state = FoldingState()
        self._waiting: list[FinishedGame] = []
        """The games for the next commit."""
        self._advanced: dict[tuple[int, int], Game] = {}
        """Journaled games with new moves since the last commit, by tournament and slot."""
        self._absences: dict[int, dict[int, bool]] = {}
        """Entries of ladders that have come or gone since the last commit, by tournament and number: whether absent."""
        self._recorded = 0
        """The number of games recorded so far."""
        self._committed = 0
        """The number of games committed so far."""
        self._is_closed = False
        self._is_running = False
        self._failure: BaseException | None = None
        self._wake = asyncio.Event()
        self._no_delay = asyncio.Event()
        """Set if the next commit must not wait for more games."""
        self._after_commit = asyncio.Event()
        """Set at the end of the next commit, and at the end of `run`. Each commit has its own event."""

    @property
    def backlog(self) -> int:
        """The number of games that are recorded but not committed yet."""
        return self._recorded - self._committed

    def record(self, games: list[FinishedGame]) -> None:
        """Accept games and return at once. Raise Draining after `close`."""
        if self._is_closed:
            raise Draining()
        self._waiting += games
        self._recorded += len(games)
        self._wake.set()

    def journal(self, games: Iterable[Game]) -> None:
        """Have the next commit store the moves of these games, unless they have ended. Do nothing after `close`."""
        if not self._is_closed:
            for game in games:
                self._advanced[game.conditions.tournament, game.slot.ordinal] = game
            self._wake.set()

    def pair_again(self, absences: Mapping[int, Mapping[int, bool]]) -> None:
        """Have the next commit pair the present bots of these ladders. Do nothing after `close`.

        The values say which entries have become absent or present, by number.
        """
        if not self._is_closed:
            for tournament, changes in absences.items():
                self._absences.setdefault(tournament, {}).update(changes)
            self._wake.set()

    async def flush(self) -> None:
        """Return when all games recorded so far are committed. If `run` has failed, raise its error."""
        target = self._recorded
        while self._committed < target:
            self._no_delay.set()
            await self._next_commit()

    async def wait_for_space(self) -> None:
        """Return when the backlog is within its limit. If `run` has failed, raise its error."""
        while self.backlog > self.backlog_limit:
            await self._next_commit()

    async def close(self) -> None:
        """Accept no more games, and return when `run` has committed the rest and ended. Can be called repeatedly."""
        self._is_closed = True
        self._wake.set()
        self._no_delay.set()
        while self._is_running:
            await self._after_commit.wait()

    async def run(self) -> None:
        """Commit games until `close`. Raise the database's errors unless they can be temporary."""
        self._is_running = True
        try:
            while await self._has_work():
                next_commit_time = asyncio.get_running_loop().time() + self.interval_seconds
                await self._commit()
                # A flush and the end of the recorder do not wait for more games.
                await wait_until_set(self._no_delay, next_commit_time - asyncio.get_running_loop().time())
        except BaseException as error:
            self._failure = error
            if self.backlog:
                logger.error("games_not_stored", games=self.backlog)
            raise
        finally:
            self._is_running = False
            self._after_commit.set()

    async def _has_work(self) -> bool:
        while not self._waiting and not self._advanced and not self._absences:
            if self._is_closed:
                return False
            self._wake.clear()
            await self._wake.wait()
        return True

    async def _commit(self) -> None:
        games = self._waiting
        self._waiting = []
        advanced = [game.so_far() for game in self._advanced.values() if game.is_undecided]
        self._advanced.clear()
        absences = self._absences
        self._absences = {}
        if not self._is_closed:
            self._no_delay.clear()
        began = time.perf_counter()
        report = await self._store_games(games, advanced, absences)
        report.seconds = time.perf_counter() - began
        self._state.confirm()
        for progress in report.progress:
            if progress.finished:
                self._state.forget(progress.tournament)
        self._committed += len(games)
        self.on_settled(games, report.games)
        self._after_commit.set()
        self._after_commit = asyncio.Event()
        self.on_commit(report)
        self.publish(report)

    async def _store_games(
        self, games: list[FinishedGame], advanced: list[GameSoFar], absences: Mapping[int, Mapping[int, bool]]
    ) -> CommitReport:
        store = partial(
            commit_games,
            games=games,
            state=self._state,
            now_ms=self.store.now_ms(),
            advanced=advanced,
            absences=absences,
        )
        was_tried = False

        def commit(connection: Connection) -> CommitReport:
            # This is called again if the connection breaks during a commit, which can have succeeded.
            nonlocal was_tried
            is_repeated = was_tried
            was_tried = True
            return store(connection, again=is_repeated, referee=self.referee, machine=self.machine)

        try:
            return await self.store.write_with_retries(commit)
        except DatabaseDamaged as error:
            if absences:
                # The damage can be in one of these ladders. No game must be lost by that.
                return await self._store_games(games, advanced, {})
            tournaments = {game.tournament for game in games} | {game.tournament for game in advanced}
            damaged = {key for key in tournaments if await self._is_damaged(key, games, advanced)}
            if not damaged:
                raise
            for tournament in sorted(damaged):
                self.on_damage(tournament, error)
            sound_games, sound_advanced = _games_of(tournaments - damaged, games, advanced)
            return await self._store_games(sound_games, sound_advanced, {})

    async def _is_damaged(self, tournament: int, games: list[FinishedGame], advanced: list[GameSoFar]) -> bool:
        """Return whether the games of this tournament cannot be stored. The trial is rolled back."""
        games, advanced = _games_of({tournament}, games, advanced)
        now = self.store.now_ms()

        def trial(connection: Connection) -> None:
            commit_games(connection, games, self._state, now_ms=now, advanced=advanced)
            raise _TrialSucceeded

        try:
            await self.store.write_with_retries(trial)
        except _TrialSucceeded:
            return False
        except DatabaseDamaged:
            return True
        raise AssertionError("a trial is always rolled back")

    async def _next_commit(self) -> None:
        if self._failure is not None:
            raise RuntimeError("games can no longer be stored") from self._failure
        await self._after_commit.wait()


def _games_of(
    tournaments: set[int], games: list[FinishedGame], advanced: list[GameSoFar]
) -> tuple[list[FinishedGame], list[GameSoFar]]:
    """Return those of the finished and journaled games that belong to these tournaments."""
    return (
        [game for game in games if game.tournament in tournaments],
        [game for game in advanced if game.tournament in tournaments],
    )
