"""The supply of one tournament's games: it claims units of the tournament whenever the referee has capacity.

A `Supply` plays one tournament. Its `Units` object decides which units to claim, and when. `AllUnits` claims every unit
in order. In a cluster, `SharedUnits` claims units that no other referee has.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar

import structlog

from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions, Unit
from noughts_server.competition.formats.tournament_format import TournamentFormat
from noughts_server.runtime.recorder import Recorder
from noughts_server.runtime.throughput_queue import ThroughputQueue
from noughts_server.runtime.units_with_openings import UnitsWithOpenings
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.tournaments.claims import Claim, claim_unit, unfinished_units
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id
from noughts_server.store.tournaments.tournaments import conditions as read_conditions

logger = structlog.get_logger("noughts.director")

# At least this many slots wait in the referee, so that each frame finds a next game.
_FEWEST_QUEUED = 64


class Units(Protocol):
    """Claims units of one running tournament, and gives their games to the referee."""

    async def wait_to_begin(self) -> None:
        """Return when games can be given to the referee. Raise NoughtsError."""

    async def play(
        self, tournament: Tournament, conditions: GameConditions, opened_units: UnitsWithOpenings
    ) -> Tournament | None:
        """Play under these conditions until they could have changed. Raise NoughtsError.

        Return the stored tournament; None if all its games are played.
        """


U = TypeVar("U", bound=Units)


class Progress:
    """Wakes tasks that wait for games to begin or end."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def wake(self) -> None:
        """Wake all waiting tasks."""
        self._event.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition is true."""
        while not condition():
            self._event.clear()
            await self._event.wait()


@dataclass(eq=False)
class Supply(Generic[U]):
    """Gives the referee the slots of one running tournament until none are left."""

    key: int
    """The store's key of the tournament."""
    store: Store
    referee: Referee
    recorder: Recorder
    progress: Progress
    queue: ThroughputQueue
    new_units: Callable[["Supply[U]"], U]
    """Creates `units`."""
    conditions: GameConditions | None = field(default=None, init=False)
    """The conditions of its games; None until they were read."""
    games_total: int = field(default=0, init=False)
    """The number of its slots at the last commit of games."""
    _next_slots: Unit | None = field(default=None, init=False)
    """Claimed slots with which the next turn begins, if the tournament has a throughput."""
    _parts: AsyncIterator[Unit] | None = field(default=None, init=False)
    """The slots after `_next_slots`, claimed when they are needed."""

    def __post_init__(self) -> None:
        self.units = self.new_units(self)

    def note_commit(self, games_total: int) -> None:
        """Note a commit of the tournament's games. The tournament now has this many slots."""
        self.games_total = games_total
        self.progress.wake()

    def withdraw_entries(self, entries: Mapping[int, str]) -> None:
        """End the games of these entries, by number, because they were withdrawn; the values are the reasons."""
        self.referee.withdraw_entries(self.key, entries)

    async def play(self) -> None:
        """Play the tournament for as long as it runs and its `units` have games. Raise NoughtsError."""
        await self.units.wait_to_begin()
        tournament: Tournament | None = await self.read_tournament()
        opened_units: UnitsWithOpenings | None = None
        while tournament is not None and tournament.state is TournamentState.RUNNING:
            conditions = await self.read_conditions()
            if opened_units is None:
                opened_units = UnitsWithOpenings(
                    tournament.settings, conditions, tournament.owner_id, self._others_play
                )
            tournament = await self.units.play(tournament, conditions, opened_units)
        self.referee.evict(self.key)

    async def use_turn(self, games: int, parts: Callable[[], AsyncIterator[Unit]]) -> bool:
        """Give the referee at most this many games of a tournament with a throughput. Return False if no game is left.

        `parts` claims further games.
        """
        if not self._next_slots:
            self._next_slots = await anext(self._parts, None) if self._parts else None
            if not self._next_slots:
                self._parts = parts()
                self._next_slots = await anext(self._parts, None)
        if not self._next_slots:
            self.queue.end_turn(self.key, 0)
            return False
        unit = self._next_slots
        slots = self._next_slots.slots
        self._next_slots = unit._replace(slots=slots[games:]) if len(slots) > games else None
        self.referee.add(unit._replace(slots=slots[:games]))
        self.queue.end_turn(self.key, len(slots[:games]))
        return True

    def drop_claimed(self) -> None:
        """Forget the games that are claimed for the next turns."""
        self._next_slots = None
        self._parts = None

    async def read_tournament(self) -> Tournament:
        """Return the tournament as it is stored now."""
        return await self.store.read_with_retries(lambda connection: get_tournament_by_id(connection, self.key))

    async def read_conditions(self) -> GameConditions:
        """Read the conditions of its games, and end the games of withdrawn entries."""
        self.conditions = await self.store.read_with_retries(lambda connection: read_conditions(connection, self.key))
        self.withdraw_entries(self.conditions.withdrawn)
        return self.conditions

    async def unit_of(self, claim: Claim, conditions: GameConditions) -> Unit:
        """Return the games of a claim. Read the conditions again if an entry of these games has joined since."""
        if any(max(slot.first, slot.second) >= len(conditions.players) for slot in claim.slots):
            conditions = await self.read_conditions()
        return Unit(conditions, claim.attempt, claim.slots, begun=claim.begun)

    def is_idle(self) -> bool:
        """Return whether the referee has no waiting and no running game of the tournament."""
        return not self.referee.count_queued(self.key) and not self.referee.count_running(self.key)

    def _others_play(self) -> bool:
        """Return whether games of other tournaments are running."""
        return self.referee.count_running() > self.referee.count_running(self.key)


class AllUnits:
    """Claims every unit of a tournament in order, because no other process plays it."""

    def __init__(self, supply: Supply["AllUnits"]) -> None:
        self._supply = supply
        self._next_unit: int | None = None
        """The first unit that is not claimed; None if the store must say which units have missing games."""
        self._has_begun = False

    async def wait_to_begin(self) -> None:
        """See `Units`."""

    async def play(
        self, tournament: Tournament, conditions: GameConditions, opened_units: UnitsWithOpenings
    ) -> Tournament | None:
        """Claim all units, and return when the tournament can have others. See `Units`."""
        supply = self._supply
        units = await self._unfinished()
        if not self._has_begun:
            self._has_begun = True
            players = len(conditions.players)
            logger.info("tournament_started", tournament=conditions.name, bots=players, units=len(units))
        await self._hand_out(units, conditions, opened_units, tournament)
        # Entries can have been withdrawn since the conditions were read.
        await supply.read_conditions()
        # Running games can lead to further pairings. So whole units are claimed, and a claimed unit does not grow.
        kind = tournament.settings.schedule
        total = tournament.games_total
        is_idle = False
        while not is_idle and tournament.games_total == total:
            await supply.progress.until(lambda: self._can_claim_more(kind, known_total=total))
            is_idle = supply.is_idle()
            if is_idle or not supply.referee.count_queued(supply.key):
                # The results of the last games can lead to more games: the next round, or an extension.
                await supply.recorder.flush()
            tournament = await supply.read_tournament()
        # If a tournament is extended while its last unit is claimed, that unit already has the further games.
        if tournament.games_total == total or tournament.state is not TournamentState.RUNNING:
            logger.info("tournament_played", tournament=conditions.name)
            return None
        self._next_unit = None if is_idle else units.stop
        return tournament

    async def _unfinished(self) -> range:
        """Return the units that are not claimed yet."""
        supply = self._supply
        units = await supply.store.read_with_retries(lambda connection: unfinished_units(connection, supply.key))
        return units if self._next_unit is None else range(self._next_unit, units.stop)

    async def _hand_out(
        self, units: range, playing: GameConditions, opened_units: UnitsWithOpenings, tournament: Tournament
    ) -> None:
        supply = self._supply
        settings = tournament.settings
        most_queued = max(_FEWEST_QUEUED, playing.concurrency)

        def has_room() -> bool:
            # A ladder limits its open pairings itself. Games that wait for an absent bot must not delay others.
            if settings.throughput or settings.schedule.endless:
                return True
            return supply.referee.count_queued(supply.key) < most_queued

        numbers = iter(units)

        async def parts() -> AsyncIterator[Unit]:
            for number in numbers:
                await supply.progress.until(has_room)
                await supply.recorder.wait_for_space()
                claim = await supply.store.write_with_retries(
                    partial(claim_unit, tournament_id=supply.key, number=number)
                )
                unit = await supply.unit_of(claim, playing)
                async for part in opened_units.parts(unit, claim.game_pairs):
                    yield part

        if settings.throughput:
            more = True
            while more:
                supply.queue.ask(tournament.owner_id, settings, playing, supply.progress.wake)
                await supply.progress.until(lambda: supply.queue.turn_of(supply.key) > 0)
                more = await supply.use_turn(supply.queue.turn_of(supply.key), parts)
        else:
            async for part in parts():
                await supply.progress.until(has_room)
                supply.referee.add(part)

    def _can_claim_more(self, kind: TournamentFormat, known_total: int) -> bool:
        """Return whether to read the tournament again, because it could have more games, or have ended.

        True if the tournament is idle. If it pairs ahead, also true if no game waits and games were stored meanwhile,
        or will be soon. In a ladder, games can wait for an absent bot, and must not delay others.
        """
        supply = self._supply
        if supply.is_idle():
            return True
        if kind.endless and supply.games_total > known_total:
            return True
        if not (kind.endless or kind.pairs_ahead) or supply.referee.count_queued(supply.key):
            return False
        return supply.games_total > known_total or supply.recorder.backlog > 0
