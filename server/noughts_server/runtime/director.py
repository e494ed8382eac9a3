"""The director: keeps every running tournament supplied with games to play.

A running tournament has one task, its `Supply`. Whenever the referee has room, it claims the tournament's next unit in
the store and hands its missing slots to the referee; finished games go to the recorder. Restarted in the middle, it
claims again and exactly the missing games are played. One more task starts tournaments whose moment has come.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import structlog

from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions
from noughts_server.errors import DatabaseDamaged, DatabaseTrouble, NoughtsError, Unavailable
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.recorder import COMMITTED, DAMAGED, Recorder
from noughts_server.runtime.supply import Progress, Supply
from noughts_server.runtime.uncancelled_work import Done, UncancelledWork
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.results import CommitReport
from noughts_server.store.tournaments.entries import withdraw_entry
from noughts_server.store.tournaments.extensions import extend_tournament
from noughts_server.store.tournaments.scheduled_starts import due_tournaments, next_start, start_or_cancel
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    cancel_tournament,
    get_tournament,
    pause_tournament,
    running_tournaments,
    start_tournament,
)

logger = structlog.get_logger("noughts.director")

CHANGED = "tournaments.changed"
"""The subject under which the store's key of a tournament is published that was started, paused or cancelled."""

# A call that resumes a tournament waits so long for the games that were running when it was paused.
_FINISHING_SECONDS = 5.0
# The scheduler looks at the clock now and then, which may have been set meanwhile.
_LONGEST_WAIT_SECONDS = 60.0
_AFTER_FAILURE_SECONDS = 1.0


class Director:
    """Starts, pauses, resumes and ends the play of tournaments. Owns the tasks that do it."""

    def __init__(
        self, store: Store, referee: Referee, recorder: Recorder, bus: Bus, *, store_patience: float = 10.0
    ) -> None:
        """`store_patience`: how many seconds `drain` waits for a store that is in trouble."""
        self._store = store
        self._store_patience = store_patience
        self._referee = referee
        self._recorder = recorder
        self._bus = bus
        self._tasks: asyncio.TaskGroup | None = None
        self._playing: dict[int, asyncio.Task[None]] = {}
        self._supplies: dict[int, Supply] = {}
        """Of the tournaments whose games are being played or stored."""
        self._asked_again: dict[int, Tournament] = {}
        """What was to be played on while it was: that may be ending without knowing why it should go on."""
        self.problems: dict[int, str] = {}
        """Why a tournament is not played on, by its key in the store, though it is running there."""
        self._progress = Progress()
        self._rescheduled = asyncio.Event()
        self._uncancelled = UncancelledWork()
        referee.on_progress(self._progress.made)
        referee.on_displaced(self._give_way)

    @asynccontextmanager
    async def directing(self, *, goes_on: bool = True) -> AsyncIterator[None]:
        """Plays what is running in the store until the block is left; running games are then abandoned.

        Unless it `goes_on`, it plays only what is started inside the block.
        """
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._uncancelled.open(tasks)
            own: list[asyncio.Task[None]] = []
            if goes_on:
                own.append(tasks.create_task(self._start_on_time(), name="scheduled starts"))
                for tournament in await self._store.read(running_tournaments):
                    self._play(tournament)
            try:
                with (
                    listening(self._bus, COMMITTED, self._committed),
                    listening(self._bus, DAMAGED, self._found_damaged),
                ):
                    yield
            finally:
                self._uncancelled.close()
                self._asked_again.clear()
                for task in (*own, *self._playing.values()):
                    task.cancel()
                self.abandon()

    async def uncancelled(self, work: Callable[[], Awaitable[Done]]) -> Done:
        """What `work` returns or raises. It goes on when its caller is cancelled: a call whose caller has hung up.

        For work that writes a tournament and then has it played. Raises Draining when the server goes down.
        """
        return await self._uncancelled.run(work)

    async def start(self, slug: str, *, owner_id: int | None = None) -> None:
        """Begins or resumes the play of a tournament that is open or paused; with `owner_id` only its owner may.

        Raises Unavailable when games of the time before a pause are still being finished after a few seconds, and
        what the store raises. A caller who gives up meanwhile does not stop it; so it is with `pause` and `cancel`.
        """
        await self.uncancelled(lambda: self._start(slug, owner_id))

    async def _start(self, slug: str, owner_id: int | None) -> None:
        before = await self._store.read(lambda connection: get_tournament(connection, slug))
        # Games of an earlier start are still being finished: no slot may be played twice at the same time.
        try:
            async with asyncio.timeout(_FINISHING_SECONDS):
                await self._progress.until(lambda: before.id in self._playing or not self._referee.in_flight(before.id))
        except TimeoutError:
            running = self._referee.in_flight(before.id)
            text = f"{before.name}: {running} games begun before the pause are still being finished"
            raise Unavailable(text, retry_seconds=_FINISHING_SECONDS, subject=before.name) from None
        await self._everything_stored()
        now = self._store.now_ms()
        tournament = await self._store.write(
            lambda connection: start_tournament(connection, slug, now_ms=now, owner_id=owner_id)
        )
        self.play_on(tournament)

    def play_on(self, tournament: Tournament) -> None:
        """Plays a tournament that the store has set running; one that is being played already, not twice at once."""
        if tournament.state is TournamentState.RUNNING:
            if tournament.id in self._playing:
                self._asked_again[tournament.id] = tournament
            else:
                self._play(tournament)
        self._bus.publish(CHANGED, tournament.id)

    def reschedule(self) -> None:
        """A tournament that starts by itself has been created."""
        self._rescheduled.set()

    async def pause(self, slug: str, *, owner_id: int | None = None) -> None:
        """Begins no new game; those running are finished and kept."""
        await self.uncancelled(lambda: self._pause(slug, owner_id))

    async def _pause(self, slug: str, owner_id: int | None) -> None:
        tournament = await self._store.write(lambda connection: pause_tournament(connection, slug, owner_id=owner_id))
        self._stop(tournament)
        self._bus.publish(CHANGED, tournament.id)

    async def cancel(self, slug: str, *, owner_id: int | None = None, reason: str = "") -> None:
        """Ends the tournament for good; games that are running are ended void."""
        await self.uncancelled(lambda: self._cancel(slug, owner_id, reason))

    async def _cancel(self, slug: str, owner_id: int | None, reason: str) -> None:
        await self._everything_stored()
        now = self._store.now_ms()
        tournament = await self._store.write(
            lambda connection: cancel_tournament(connection, slug, now_ms=now, owner_id=owner_id, reason=reason)
        )
        self._stop(tournament)
        self._referee.abandon(tournament.id)
        self._referee.evict(tournament.id)
        self._supplies.pop(tournament.id, None)
        self._bus.publish(CHANGED, tournament.id)

    def _give_way(self, key: int) -> None:
        """Ends a challenge, of which the referee says that a bot has a game of a tournament to play."""
        supply = self._supplies.get(key)
        if supply is not None and supply.conditions is not None and self._tasks is not None:
            slug = supply.conditions.name.removeprefix("tournaments/")
            self._tasks.create_task(self._end_challenge(slug), name=f"end of {slug}")

    async def _end_challenge(self, slug: str) -> None:
        with suppress(NoughtsError):  # it has been over, or the server is going down
            await self.cancel(slug, reason="a bot began a game with a clock in a tournament")

    async def extend(self, slug: str, *, games_per_pair: int = 0, rounds: int = 0, owner_id: int | None = None) -> None:
        """Adds games or rounds, see `extend_tournament`; those of one that was finished are played at once."""
        await self.uncancelled(lambda: self._extend(slug, games_per_pair, rounds, owner_id))

    async def _extend(self, slug: str, games_per_pair: int, rounds: int, owner_id: int | None) -> None:
        await self._everything_stored()

        def extend(connection: Connection) -> bool:
            finished = get_tournament(connection, slug).state is TournamentState.FINISHED
            extend_tournament(connection, slug, games_per_pair=games_per_pair, rounds=rounds, owner_id=owner_id)
            return finished and bool(games_per_pair or rounds)

        if await self._store.write(extend):
            await self._start(slug, owner_id)
        else:
            tournament = await self._store.read(lambda connection: get_tournament(connection, slug))
            self.play_on(tournament)

    async def withdraw(self, slug: str, label: str, *, owner_id: int | None = None, reason: str = "left") -> None:
        """Takes an entry out; the games that it has left in a tournament that has begun are lost, those running too."""
        await self.uncancelled(lambda: self._withdraw(slug, label, owner_id, reason))

    async def _withdraw(self, slug: str, label: str, owner_id: int | None, reason: str) -> None:
        leave = partial(
            withdraw_entry, slug=slug, label=label, now_ms=self._store.now_ms(), owner_id=owner_id, reason=reason
        )
        left = await self._store.write(leave)
        tournament = await self._store.read(lambda connection: get_tournament(connection, slug))
        supply = self._supplies.get(tournament.id)
        if supply is not None:
            supply.withdrawn({each.entry: each.reason for each in left})
        self._bus.publish(CHANGED, tournament.id)

    def _committed(self, report: CommitReport) -> None:
        for progress in report.progress:
            supply = self._supplies.get(progress.tournament)
            if supply is not None:
                supply.committed(progress.games_total)
                supply.withdrawn({left.entry: left.reason for left in progress.withdrawn})
            for left in progress.withdrawn:
                logger.info("withdrawn", tournament=progress.name, entry=left.label, reason=left.reason)

    def playing(self) -> list[GameConditions]:
        """The conditions of the tournaments whose games are being played."""
        supplies = [self._supplies[key] for key in self._playing if key in self._supplies]
        return [supply.conditions for supply in supplies if supply.conditions is not None]

    def conditions(self, tournament: int) -> GameConditions | None:
        """The conditions of a tournament whose games are being played or stored."""
        supply = self._supplies.get(tournament)
        return None if supply is None else supply.conditions

    async def _everything_stored(self) -> None:
        """Returns when the games that are over are stored. Raises DatabaseTrouble, Unavailable: a call cannot wait."""
        self._store.check_trouble()
        try:
            async with asyncio.timeout(_FINISHING_SECONDS):
                await self._recorder.flush()
        except TimeoutError:
            self._store.check_trouble()
            text = "games that are over are still being stored"
            raise Unavailable(text, retry_seconds=_FINISHING_SECONDS) from None

    async def drain(self) -> None:
        """Begins no new game anywhere and waits until those running are stored."""
        self._referee.stop_starting()
        await self._progress.until(lambda: self._referee.in_flight() == 0)
        self._store.lose_patience(self._store_patience)
        await self._recorder.flush()

    def abandon(self) -> None:
        """Ends all running games void; their slots are played when the server is back."""
        self._referee.stop_starting()
        self._referee.abandon()

    def _play(self, tournament: Tournament) -> None:
        if self._tasks is None:
            raise RuntimeError("the director is not directing")
        self.problems.pop(tournament.id, None)
        supply = self._new_supply(tournament.id)
        task = self._tasks.create_task(self._supply(supply, tournament), name=tournament.name)
        self._supplies[tournament.id], self._playing[tournament.id] = supply, task
        task.add_done_callback(lambda done: self._forget(tournament.id, done))

    def _new_supply(self, tournament: int) -> Supply:
        return Supply(tournament, self._store, self._referee, self._recorder, self._progress)

    def _forget(self, tournament: int, task: asyncio.Task[None]) -> None:
        if self._playing.get(tournament) is task:
            del self._playing[tournament]
            again = self._asked_again.pop(tournament, None)
            if again is not None and not task.cancelled():
                self._play(again)

    def _stop(self, tournament: Tournament) -> None:
        task = self._playing.pop(tournament.id, None)
        if task is not None:
            task.cancel()
        self.problems.pop(tournament.id, None)
        self._referee.withdraw(tournament.id)

    async def _start_on_time(self) -> None:
        """Starts tournaments whose moment has come, also those whose moment passed while the server was away."""
        while True:
            self._rescheduled.clear()
            delay = _LONGEST_WAIT_SECONDS
            try:
                moment = await self._start_due()
                if moment is not None:
                    delay = min(delay, max(0, moment - self._store.now_ms()) / 1000)
            except NoughtsError as error:
                logger.error("scheduled start failed", reason=error.reason, error=str(error))
                delay = _AFTER_FAILURE_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._rescheduled.wait()

    async def _start_due(self) -> int | None:
        """Starts what is due; returns the moment of the next start."""
        now = self._store.now_ms()
        failed: NoughtsError | None = None
        for slug in await self._store.read_patiently(lambda connection: due_tournaments(connection, now_ms=now)):
            try:
                start = partial(start_or_cancel, slug=slug, now_ms=now)
                tournament = await self._store.write_patiently(start)
            except NoughtsError as error:
                failed = error  # the others start all the same
                continue
            logger.info("its moment has come", tournament=slug, state=str(tournament.state), reason=tournament.reason)
            self.play_on(tournament)
        if failed is not None:
            raise failed
        return await self._store.read_patiently(next_start)

    async def _supply(self, supply: Supply, tournament: Tournament) -> None:
        """Plays one tournament. What goes wrong with it must not end the others."""
        try:
            await supply.play()
        except DatabaseTrouble:
            pass  # the server stops, and waits for it no longer
        except NoughtsError as error:
            self._give_up(tournament.id, tournament.name, error)
        else:
            self._supplies.pop(tournament.id, None)

    def _found_damaged(self, found: tuple[int, DatabaseDamaged]) -> None:
        """The games of a tournament cannot be stored."""
        tournament, error = found
        task = self._playing.pop(tournament, None)
        if task is not None:
            task.cancel()
            self._give_up(tournament, task.get_name(), error)

    def _give_up(self, tournament: int, name: str, error: NoughtsError) -> None:
        """Plays no more of a tournament until it is resumed, or the server started again; the others go on."""
        logger.error("stopped", tournament=name, reason=error.reason, error=str(error), hint=error.hint)
        self.problems[tournament] = str(error)
        self._referee.withdraw(tournament)
        if isinstance(error, DatabaseDamaged):
            # What is being played of it could not be stored.
            self._referee.abandon(tournament)
