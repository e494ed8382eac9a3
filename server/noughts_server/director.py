"""The director: keeps every running tournament supplied with games to play.

A running tournament has one task. It puts the tournament's units on the bus, takes them from there when the referee
has room, claims each in the store and hands its missing slots to the referee; finished games go to the recorder.
Restarted in the middle, it claims again and exactly the missing games are played.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from noughts_referee.records import Conditions, Unit
from noughts_referee.referee import Referee
from noughts_server.bus import Bus
from noughts_server.formats import RoundRobin
from noughts_server.recorder import Recorder
from noughts_server.store import tournaments
from noughts_server.store.database import Store

logger = structlog.get_logger("noughts.director")

# So many slots wait in the referee at least, so that a frame never finds it without the next game.
_FEWEST_QUEUED = 64


class Director:
    """Starts, pauses, resumes and ends the play of tournaments. Owns the tasks that do it."""

    def __init__(self, store: Store, referee: Referee, recorder: Recorder, bus: Bus) -> None:
        self._store = store
        self._referee = referee
        self._recorder = recorder
        self._bus = bus
        self._tasks: asyncio.TaskGroup | None = None
        self._playing: dict[int, asyncio.Task[None]] = {}
        self._progress = asyncio.Event()
        self._draining = False
        referee.on_progress(self._progress.set)

    @asynccontextmanager
    async def directing(self) -> AsyncIterator[None]:
        """Plays what is running in the store until the block is left; running games are then abandoned."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for tournament in await self._store.read(tournaments.running):
                self._play(tournament)
            try:
                yield
            finally:
                for task in self._playing.values():
                    task.cancel()

    async def start(self, tournament: int) -> None:
        """Begins or resumes the play of a tournament that is open or paused."""
        await self._settled(tournament)
        await self._store.write(lambda connection: tournaments.start(connection, tournament))
        self._play(tournament)

    async def pause(self, tournament: int) -> None:
        """Begins no new game; those running are finished and kept."""
        await self._store.write(lambda connection: tournaments.pause(connection, tournament))
        self._stop(tournament)

    async def cancel(self, tournament: int) -> None:
        """Ends the tournament for good; games that are running are finished and kept."""
        await self._store.write(lambda connection: tournaments.cancel(connection, tournament))
        self._stop(tournament)

    async def drain(self) -> None:
        """Begins no new game anywhere and waits until those running are stored."""
        self._draining = True
        self._referee.stop_starting()
        await self._until(lambda: self._referee.in_flight() == 0)
        await self._recorder.flush()

    def abandon(self) -> None:
        """Ends all running games void; their slots are played when the server is back."""
        self._referee.stop_starting()
        self._referee.abandon()

    def _play(self, tournament: int) -> None:
        if self._tasks is None:
            raise RuntimeError("the director is not directing")
        task = self._tasks.create_task(self._supply(tournament), name=f"tournament {tournament}")
        self._playing[tournament] = task
        task.add_done_callback(lambda _: self._playing.pop(tournament, None))

    def _stop(self, tournament: int) -> None:
        task = self._playing.pop(tournament, None)
        if task is not None:
            task.cancel()
        self._referee.withdraw(tournament)

    async def _settled(self, tournament: int) -> None:
        """Waits for games of an earlier start, so that no slot is played twice at the same time."""
        await self._until(lambda: self._referee.in_flight(tournament) == 0)
        await self._recorder.flush()

    async def _supply(self, tournament: int) -> None:
        conditions = await self._store.read(lambda connection: tournaments.conditions(connection, tournament))
        units = await self._store.read(lambda connection: tournaments.open_units(connection, tournament))
        logger.info("playing", tournament=conditions.name, units=len(units))
        queue = f"units.{tournament}"
        self._bus.clear(queue)
        for number in units:
            self._bus.put(queue, number)
        wanted = max(_FEWEST_QUEUED, min(conditions.concurrency, 4_096))
        for _ in units:
            await self._until(lambda: self._referee.queued(tournament) < wanted)
            await self._recorder.room()
            self._referee.add(await self._claim(conditions, await self._bus.take(queue)))
        await self._until(lambda: not self._referee.queued(tournament) and not self._referee.in_flight(tournament))
        await self._recorder.flush()
        logger.info("played", tournament=conditions.name)

    async def _claim(self, conditions: Conditions, number: int) -> Unit:
        tournament = conditions.tournament
        claim = await self._store.write(lambda connection: tournaments.claim_unit(connection, tournament, number))
        schedule = RoundRobin(len(conditions.players), claim.games_per_pair)
        slots = [schedule.slot(ordinal) for ordinal in claim.missing]
        return Unit(conditions, number, claim.attempt, slots)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._progress.clear()
            await self._progress.wait()
