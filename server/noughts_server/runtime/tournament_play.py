"""The interface through which a director has tournaments played, and its implementation for one process.

Each running tournament has one task with a `Supply`. Whenever the referee has capacity, the supply claims the
tournament's next unit in the store and gives the missing slots of the unit to the referee; finished games go to the
recorder. After a restart the supply claims the units again, and the referee plays exactly the missing games.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol

import structlog

from noughts_referee.referee import Referee
from noughts_referee.rules import CONCEDED_FAULT, InvalidInput
from noughts_referee.work_units import GameConditions
from noughts_server.core.errors import DatabaseDamaged, DatabaseUnavailable, InvalidArgument, NoughtsError, Unavailable
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.runtime.recorder import COMMITTED_HERE, DAMAGED, PROGRESSED, STORE_SECONDS, Recorder
from noughts_server.runtime.supply import Progress, Supply, U
from noughts_server.runtime.throughput_queue import ThroughputQueue
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.results import CommitReport
from noughts_server.store.tournaments.claims import give_up
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    get_tournament_by_id,
    own_entries,
    running_tournaments,
)

logger = structlog.get_logger("noughts.director")

CHANGED = "tournaments.changed"
"""The bus subject of tournaments that were started, paused or cancelled. A message is the tournament's key."""

ABANDONED = "tournaments.abandoned"
"""The bus subject of tournaments that were paused, and whose running games end at once."""

CONCEDED = "tournaments.conceded"
"""The bus subject of rated tournaments whose organiser ends running games: the organiser's bots lose these games."""

_FINISHING_SECONDS = 5.0
"""Seconds for which a call that resumes a tournament waits until games from before the pause have ended."""
_DRAIN_SECONDS = 3600.0
"""The time that running games have to end before a server stops."""
_CHECK_SECONDS = 1.0
"""Seconds between two checks of the running games, while a server stops."""
_DISCONNECTED_CHECKS = 5
"""A stopping server aborts the games after this many checks in a row in which they only wait for disconnected bots."""
# The delay before another attempt at a tournament that stopped. It doubles with each stop without a new game.
_FIRST_RETRY_SECONDS = 10.0
_LONGEST_RETRY_SECONDS = 3600.0
_MOST_DOUBLINGS = 20
"""More doublings change nothing, because the longest delay is reached; they would only make the number larger."""
_NO_TOURNAMENT = 0
"""A key that no tournament has."""
_NOT_INSTALLED = "Install the package of its variant here, in the version that the organiser used."


def stop_reason(tournament: Tournament, problems: Mapping[int, str], outage: DatabaseUnavailable | None) -> str:
    """Return why a running tournament is not played; empty if it is played.

    `problems` has reasons that are not stored yet, by key.
    """
    reason = tournament.reason or problems.get(tournament.id, "")
    if not reason and outage is not None and tournament.state is TournamentState.RUNNING:
        return f"no result can be stored in the database, because {outage.problem}. Fix: {outage.remedy}"
    return reason


def log_stop(tournament: str, reason: str, error: str, hint: str, retry_seconds: float) -> None:
    """Log that play of a tournament (`tournaments/ID`) has stopped; `reason` is in UPPER_SNAKE."""
    logger.error(
        "tournament_stopped",
        tournament=tournament,
        reason=reason,
        error=error,
        hint=hint,
        retry_seconds=retry_seconds,
    )


def log_resumed(tournament: str) -> None:
    """Log that play of a tournament (`tournaments/ID`) that had stopped continues."""
    logger.info("tournament_resumed", tournament=tournament)


class TournamentPlay(Protocol):
    """The interface through which a director has tournaments played."""

    async def wait_until_settled(self, resumed: Tournament | None = None) -> None:
        """Return when the finished games are stored; if `resumed` is given, when none of its games are running.

        Raise DatabaseUnavailable, and Unavailable after a few seconds, because a call cannot wait.
        """

    def apply_change(self, tournament: Tournament) -> None:
        """Start or stop play after the store has started, paused, cancelled or extended a tournament.

        Publish CHANGED.
        """

    def abandon_games(self, tournament: Tournament) -> None:
        """End the running games of a tournament that the store has paused, without a result. Publish ABANDONED."""

    async def concede_games(self, tournament: Tournament) -> None:
        """End the running games of the organiser's bots as lost; return when they are stored. Publish CONCEDED."""

    def withdraw_entries(self, tournament: Tournament, entries: Mapping[int, str]) -> None:
        """Withdraw these entries, by number; the values are the reasons. Publish CHANGED."""


@dataclass(eq=False)
class LocalPlay(Generic[U]):
    """Plays tournaments at the referee of this process, in one task each."""

    store: Store
    referee: Referee
    recorder: Recorder
    bus: Bus
    new_units: Callable[[Supply[U]], U]
    """Creates the units of a tournament's supply."""
    store_wait_seconds: float = STORE_SECONDS
    """The seconds that `drain` waits for an unavailable store."""
    node: str = ""
    """In a cluster: the name of this referee, which gives its units to others if it cannot play them."""
    first_retry_seconds: float = _FIRST_RETRY_SECONDS

    def __post_init__(self) -> None:
        self.problems: dict[int, str] = {}
        """The reasons for which tournaments that are running in the store are not played here, by key."""
        self.on_stop: Callable[[], None] = lambda: None
        """Called when a tournament cannot be played here."""
        self._stops: Counter[int] = Counter()
        """The number of stops since the last game, by the tournament's key."""
        self._retries: dict[int, asyncio.Task[None]] = {}
        """The tasks that wait before another attempt at a tournament, by key."""
        self.tasks: dict[int, asyncio.Task[None]] = {}
        """The tasks of the tournaments whose games are being played, by key."""
        self.supplies: dict[int, Supply[U]] = {}
        """The supplies of the tournaments whose games are being played or stored, by key."""
        self._group: asyncio.TaskGroup | None = None
        self._restarts: dict[int, str] = {}
        """The names, by key, of tournaments for which `follow` was called while they had a task.

        When that task ends by itself, a new one starts.
        """
        self._progress = Progress()
        self._displaced: dict[int, asyncio.Task[None]] = {}
        """The tasks that end the running games of a guest's test because its bots play in a tournament, by key."""
        self.queue = ThroughputQueue(self.referee)
        """The queue of the tournaments with a throughput."""
        self.referee.on_progress = self._on_progress

    @asynccontextmanager
    async def supplying(self, *, resumes_play: bool = True) -> AsyncIterator[None]:
        """Play the tournaments that are running in the store inside the block; then abandon their running games.

        If `resumes_play` is false, play only tournaments that are started inside the block.
        """
        async with asyncio.TaskGroup() as self._group:
            if resumes_play:
                for tournament in await self.store.read(running_tournaments):
                    self._play(tournament.id, tournament.name)
            try:
                with (
                    listening(self.bus, COMMITTED_HERE, self._on_commit),
                    listening(self.bus, PROGRESSED, self._on_progress_of_tournaments),
                    listening(self.bus, DAMAGED, self._on_damage),
                ):
                    yield
            finally:
                self._restarts.clear()
                for task in (*self.tasks.values(), *self._retries.values(), *self._displaced.values()):
                    task.cancel()
                self.abandon()

    async def wait_until_settled(self, resumed: Tournament | None = None) -> None:
        """See `TournamentPlay`."""
        key = _NO_TOURNAMENT if resumed is None else resumed.id
        name = "" if resumed is None else resumed.name
        self.store.check_available()
        try:
            async with asyncio.timeout(_FINISHING_SECONDS):
                # Games from before a pause must end first, so that no slot is played twice at the same time.
                await self._progress.until(lambda: key in self.tasks or not self.referee.count_running(key))
                await self.recorder.flush()
        except TimeoutError:
            self.store.check_available()
            running = 0 if key in self.tasks else self.referee.count_running(key)
            text = "games that are over are still being stored"
            if running:
                text = f"{name}: {running} games from before the pause are still running"
            raise Unavailable(text, retry_seconds=_FINISHING_SECONDS, subject=name) from None

    def apply_change(self, tournament: Tournament) -> None:
        """See `TournamentPlay`."""
        self.follow(tournament)
        self.bus.publish(CHANGED, tournament.id)

    def abandon_games(self, tournament: Tournament) -> None:
        """See `TournamentPlay`."""
        self.drop(tournament.id)
        self.bus.publish(ABANDONED, tournament.id)

    async def concede_games(self, tournament: Tournament) -> None:
        """See `TournamentPlay`."""
        await self.concede(tournament.id)
        await self.recorder.flush()

    async def concede(self, key: int) -> None:
        """End the running games of the organiser's bots as lost.

        The tournament is not played until the next `follow`.
        """
        own = await self.store.read_with_retries(partial(own_entries, tournament_id=key))
        self._stop(key)
        self.referee.concede(key, dict.fromkeys(own, CONCEDED_FAULT))

    def follow(self, tournament: Tournament) -> None:
        """Start or stop playing the tournament according to its stored state. It never has two tasks."""
        key = tournament.id
        if tournament.state is TournamentState.RUNNING:
            self._play_on(key, tournament.name)
        elif tournament.state is TournamentState.PAUSED:
            self._stop(key)
        elif tournament.ended:
            self._end(key)

    def withdraw_entries(self, tournament: Tournament, entries: Mapping[int, str]) -> None:
        """See `TournamentPlay`."""
        supply = self.supplies.get(tournament.id)
        if supply is not None:
            supply.withdraw_entries(entries)
        self.bus.publish(CHANGED, tournament.id)

    def playing(self) -> list[GameConditions]:
        """Return the conditions of the tournaments whose games are being played."""
        return [conditions for key in self.tasks if (conditions := self.conditions(key)) is not None]

    def conditions(self, tournament: int) -> GameConditions | None:
        """Return the conditions of a tournament whose games are being played or stored."""
        supply = self.supplies.get(tournament)
        return None if supply is None else supply.conditions

    async def drain(self) -> None:
        """Begin no new game, and wait until the running games are stored; abort them after an hour.

        Games that only wait for disconnected bots are aborted after a few seconds.
        """
        self.referee.stop_starting()
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                await self._finish_games()
                self.store.limit_retries(self.store_wait_seconds)
                await self.recorder.flush()
        except TimeoutError:
            logger.warning("drain_timed_out", seconds=_DRAIN_SECONDS)
            self.abandon()

    async def _finish_games(self) -> None:
        # Counts checks, not seconds, because this process can be suspended.
        checks = 0
        while games := self.referee.count_running():
            checks = 0 if self.referee.can_advance() else checks + 1
            if checks > _DISCONNECTED_CHECKS:
                logger.warning("disconnected_games_aborted", games=games)
                self.abandon()
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await self._progress.until(lambda: self.referee.count_running() == 0)

    def abandon(self) -> None:
        """End all running games as void; their slots are played after the restart."""
        self.referee.stop_starting()
        self.referee.abandon()

    def drop(self, key: int) -> None:
        """Stop playing a tournament, and end its running games as void."""
        self._stop(key)
        self.referee.abandon(key)

    def displace_test(self, key: int) -> None:
        """End the running games of a guest's test as void soon, and play them again when its bots are free."""
        if self._group is not None and key in self.tasks and key not in self._displaced:
            self._displaced[key] = self._group.create_task(
                self._replay_displaced_test(key), name=f"displaced test {key}"
            )

    async def _replay_displaced_test(self, key: int) -> None:
        try:
            self.drop(key)
            with logging_errors(logger, "displaced_test_not_resumed"):
                await self.recorder.flush()
                read = partial(get_tournament_by_id, tournament_id=key)
                tournament = await self.store.read_with_retries(read)
                if key not in self.tasks:
                    self.follow(tournament)
        finally:
            del self._displaced[key]

    def _on_progress(self) -> None:
        self._progress.wake()
        self.queue.give_next_turn()

    def _end(self, key: int) -> None:
        self.drop(key)
        self.referee.evict(key)
        self.supplies.pop(key, None)
        self._stops.pop(key, None)

    def _on_commit(self, report: CommitReport) -> None:
        for progress in report.progress:
            key = progress.tournament
            self._stops.pop(key, None)
            if (supply := self.supplies.get(key)) is not None:
                supply.note_commit(progress.games_total)

    def _on_progress_of_tournaments(self, report: CommitReport) -> None:
        for progress in report.progress:
            key = progress.tournament
            supply = self.supplies.get(key)
            if supply is not None:
                supply.note_commit(progress.games_total)
                supply.withdraw_entries({withdrawal.entry: withdrawal.reason for withdrawal in progress.withdrawn})
            has_games = self.referee.count_queued(key) > 0 or self.referee.count_running(key) > 0
            if progress.finished and (has_games or self.queue.wants_turn(key)):
                # After the decision of a match's test, its other games do not count.
                if has_games:
                    logger.info("match_decided", tournament=progress.name, games=progress.games_total)
                self._end(key)
                self.bus.publish(CHANGED, key)
            if progress.resumed and key not in self._retries:
                self._play_on(key, progress.name)
            for withdrawal in progress.withdrawn:
                logger.info(
                    "entry_withdrawn", tournament=progress.name, entry=withdrawal.label, reason=withdrawal.reason
                )

    def _play_on(self, key: int, name: str) -> None:
        if key in self.tasks:
            self._restarts[key] = name
        else:
            self._play(key, name)

    def _play(self, key: int, name: str) -> None:
        if self._group is None:
            raise RuntimeError("tournaments can be played only inside the block of `supplying`")
        self._forget_stop(key)
        supply = Supply(
            key=key,
            store=self.store,
            referee=self.referee,
            recorder=self.recorder,
            progress=self._progress,
            queue=self.queue,
            new_units=self.new_units,
        )
        # Games from before a pause can still be running under the earlier conditions.
        supply.conditions = self.conditions(key)
        task = self._group.create_task(self._supply(supply, name), name=name)
        self.supplies[key], self.tasks[key] = supply, task
        task.add_done_callback(lambda done: self._task_ended(key, done))

    def _task_ended(self, tournament: int, task: asyncio.Task[None]) -> None:
        if self.tasks.get(tournament) is task:
            del self.tasks[tournament]
            name = self._restarts.pop(tournament, None)
            if name is not None and not task.cancelled():
                self._play(tournament, name)

    def _stop(self, key: int) -> None:
        task = self.tasks.pop(key, None)
        if task is not None:
            task.cancel()
        self._forget_stop(key)
        self.referee.withdraw(key)

    async def _supply(self, supply: Supply[U], name: str) -> None:
        """Play one tournament. Its errors do not end other tournaments."""
        try:
            await supply.play()
        except DatabaseUnavailable:
            pass  # the server stops and no longer waits for the database
        except NoughtsError as error:
            self._give_up(supply.key, name, error)
        except InvalidInput as error:
            # For example, the package of the tournament's variant is not installed here.
            self._give_up(supply.key, name, InvalidArgument(name, message=str(error), hint=_NOT_INSTALLED))
        else:
            self.supplies.pop(supply.key, None)
        finally:
            self.queue.leave(supply.key)

    def _on_damage(self, damage: tuple[int, DatabaseDamaged]) -> None:
        """Stop a tournament whose games cannot be stored."""
        key, error = damage
        task = self.tasks.pop(key, None)
        if task is not None:
            task.cancel()
            self._give_up(key, task.get_name(), error)

    def _give_up(self, key: int, name: str, error: NoughtsError) -> None:
        """Stop playing a tournament until the next attempt; the others continue."""
        delay = min(self.first_retry_seconds * 2 ** min(self._stops[key], _MOST_DOUBLINGS), _LONGEST_RETRY_SECONDS)
        self._stops[key] += 1
        log_stop(name, error.reason, str(error), error.hint, delay)
        self.problems[key] = str(error)
        self.referee.withdraw(key)
        if self.node or isinstance(error, DatabaseDamaged):
            # Other referees can play its games, or the games could not be stored.
            self.referee.abandon(key)
        if self._group is not None:
            retry = self._retry(key, name, str(error), delay)
            self._retries[key] = self._group.create_task(retry, name=f"next attempt at {name}")
        self.on_stop()

    async def _retry(self, key: int, name: str, reason: str, delay: float) -> None:
        """Store why play has stopped, and try again after the delay in seconds."""
        now = self.store.now_ms()
        with logging_errors(logger, "stop_not_stored"):
            stop = partial(
                give_up,
                tournament_id=key,
                holder=self.node,
                reason=reason,
                now_ms=now,
                retry_at=now + round(delay * 1000),
            )
            await self.store.write_with_retries(stop)
            self.bus.publish(CHANGED, key)
        await asyncio.sleep(delay)
        self._retries.pop(key, None)
        self._play(key, name)

    def _forget_stop(self, key: int) -> None:
        """Forget the stop of a tournament, because another attempt begins or is no longer wanted."""
        self.problems.pop(key, None)
        retry = self._retries.pop(key, None)
        if retry is not None:
            retry.cancel()
