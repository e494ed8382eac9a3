"""One tournament's supply of games: it claims its units one after the other, whenever the referee has room."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions, Unit
from noughts_server.runtime.recorder import Recorder
from noughts_server.runtime.throughput_queue import ThroughputQueue
from noughts_server.runtime.units_with_openings import UnitsWithOpenings
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.tournaments.claims import claim_unit, unfinished_units
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id
from noughts_server.store.tournaments.tournaments import conditions as read_conditions

logger = structlog.get_logger("noughts.director")

# At least this many slots wait in the referee, so that each frame finds a next game.
_FEWEST_QUEUED = 64


class Progress:
    """An event for the tasks that wait for games to begin or end."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def made(self) -> None:
        """Wake all waiting tasks."""
        self._event.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when the condition holds."""
        while not condition():
            self._event.clear()
            await self._event.wait()


@dataclass(eq=False)
class Supply:
    """Gives the referee the slots of one running tournament until none are left."""

    key: int
    """The store's key of the tournament."""
    store: Store
    referee: Referee
    recorder: Recorder
    progress: Progress
    queue: ThroughputQueue
    conditions: GameConditions | None = field(default=None, init=False)
    """The conditions of its games; None until they were read."""
    _rest: Unit | None = field(default=None, init=False)
    """The first slots of its next turn, if it has a throughput. `_parts` returns claimed slots that follow."""
    _parts: AsyncIterator[Unit] | None = field(default=None, init=False)
    _total: int = field(default=0, init=False)
    """The number of its slots at the last commit of games."""

    def committed(self, games_total: int) -> None:
        """Take note of a commit of its games, after which it has this many slots."""
        self._total = games_total
        self.progress.made()

    def withdrawn(self, entries: Mapping[int, str]) -> None:
        """Take note that these entries, by number, have left; the values are the reasons."""
        self.referee.withdraw_entries(self.key, entries)

    async def play(self) -> None:
        """Play the slots without a game, and the pairings that follow from the results. Raise NoughtsError."""
        key, referee = self.key, self.referee
        tournament = await self.store.read_patiently(lambda connection: get_tournament_by_id(connection, key))
        if tournament.state is not TournamentState.RUNNING:
            return
        playing = self.conditions = await self._read_conditions()
        units = await self._unfinished()
        logger.info("tournament_started", tournament=playing.name, bots=len(playing.players), units=len(units))
        opened = UnitsWithOpenings(tournament.settings, playing, tournament.owner_id, self._others_play)
        # Further pairings can follow from running games; so units are claimed whole, and a claimed one does not grow.
        kind = tournament.settings.schedule
        ahead = kind.endless or kind.pairs_ahead
        total = -1
        while tournament.games_total != total:
            await self._hand_out(units, playing, opened, tournament)
            # Entries that have left since the conditions were read.
            playing = self.conditions = await self._read_conditions()
            self.withdrawn(playing.withdrawn)
            idle = False
            total = tournament.games_total
            while not idle and tournament.games_total == total:
                await self.progress.until(lambda: self._may_look(ahead=ahead, known=total))  # noqa: B023
                idle = self._is_idle()
                # The results of the last games can lead to more games: the next round, or an extension.
                await self.recorder.flush()
                tournament = await self.store.read_patiently(lambda connection: get_tournament_by_id(connection, key))
            playing = self.conditions = await self._read_conditions()
            claimed = units.stop
            units = await self._unfinished()
            units = units if idle else range(claimed, units.stop)
        referee.evict(key)
        logger.info("tournament_played", tournament=playing.name)

    def _others_play(self) -> bool:
        """Return whether games of other tournaments are running."""
        return self.referee.in_flight() > self.referee.in_flight(self.key)

    async def _hand_out(
        self, units: range, playing: GameConditions, opened: UnitsWithOpenings, tournament: Tournament
    ) -> None:
        settings = tournament.settings
        most_queued = max(_FEWEST_QUEUED, playing.concurrency)

        def has_room() -> bool:
            return settings.throughput > 0 or self.referee.queued(self.key) < most_queued

        numbers = iter(units)

        async def parts() -> AsyncIterator[Unit]:
            for number in numbers:
                await self.progress.until(has_room)
                await self.recorder.room()
                claim = await self.store.write_patiently(partial(claim_unit, tournament_id=self.key, number=number))
                unit = Unit(playing, claim.attempt, claim.slots, begun=claim.begun)
                async for part in opened.parts(unit, claim.encounters):
                    yield part

        if settings.throughput:
            more = True
            while more:
                self.queue.ask(tournament.owner_id, settings, playing, self.progress.made)
                await self.progress.until(lambda: self.queue.turn_of(self.key) > 0)
                more = await self._use_turn(self.queue.turn_of(self.key), parts)
        else:
            async for part in parts():
                await self.progress.until(has_room)
                self.referee.add(part)

    async def _use_turn(self, games: int, parts: Callable[[], AsyncIterator[Unit]]) -> bool:
        """Hand out this many games of a tournament with a throughput. Return False if there are none.

        `parts` claims further games.
        """
        if not self._rest:
            self._rest = await anext(self._parts, None) if self._parts else None
            if not self._rest:
                self._parts = parts()
                self._rest = await anext(self._parts, None)
        if not self._rest:
            self.queue.end_turn(self.key, 0)
            return False
        unit = self._rest
        slots = self._rest.slots
        self._rest = unit._replace(slots=slots[games:]) if len(slots) > games else None
        self.referee.add(unit._replace(slots=slots[:games]))
        self.queue.end_turn(self.key, len(slots[:games]))
        return True

    async def _read_conditions(self) -> GameConditions:
        return await self.store.read_patiently(lambda connection: read_conditions(connection, self.key))

    async def _unfinished(self) -> range:
        return await self.store.read_patiently(lambda connection: unfinished_units(connection, self.key))

    def _is_idle(self) -> bool:
        return not self.referee.queued(self.key) and not self.referee.in_flight(self.key)

    def _may_look(self, *, ahead: bool, known: int) -> bool:
        """Return whether to claim more: none of its games are playing, or none wait and there can be others."""
        if self._is_idle():
            return True
        if not ahead or self.referee.queued(self.key):
            return False
        return self._total > known or self.recorder.backlog > 0
