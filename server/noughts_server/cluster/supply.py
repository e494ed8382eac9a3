"""The supply of a cluster's referee: it claims units of all running tournaments in the database.

The table of units is the queue. A referee holds a claimed unit until all games of the unit are stored. A referee that
is silent for longer than its silence limit loses its units. The store refuses its later results, because their attempt
has ended.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from functools import partial

import structlog

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.referee import Referee
from noughts_referee.work_units import FinishedGame, GameConditions, Unit
from noughts_server.cluster.codecs import OFFERS
from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.remote_bots import RemoteBots
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import wait_until_set
from noughts_server.runtime.recorder import COMMITTED_HERE, PROGRESSED, Recorder
from noughts_server.runtime.supply import Supply
from noughts_server.runtime.tournament_play import ABANDONED, CHANGED, CONCEDED, LocalPlay, log_resumed, log_stop
from noughts_server.runtime.units_with_openings import UnitsWithOpenings
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.results import CommitReport
from noughts_server.store.tournaments.claims import claim_next, hand_over, has_free_units
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id, running_tournaments

logger = structlog.get_logger("noughts.cluster")

_CHECK_SECONDS = 1.0
_READ_AGAIN_SECONDS = 5.0
"""The time after which a running tournament and its entries are read again, because a message can have been lost."""
# Limits of the number of games that wait in the referee.
_FEWEST_QUEUED = 64
_MOST_QUEUED = 1_024
_MOST_UNITS = 4
"""The most units of one claim."""
# The shortest and longest time between two claims of games with clocks.
#
# If the next claim comes sooner, more games wait here. If it comes later, fewer do, because others could play them.
_SOON_SECONDS = 0.5
_LATE_SECONDS = 2.0


class SharedUnits:
    """The units of one tournament that this referee claims; other referees play the others."""

    def __init__(
        self, supply: Supply["SharedUnits"], node: str, share: Callable[[GameConditions], GameConditions | None]
    ) -> None:
        """`node` is the name of this referee.

        `share` returns this referee's share of a tournament's conditions. None: it can play none of its games now.
        """
        self._supply = supply
        self._node = node
        self._share = share
        self._open_slots: dict[int, set[int]] = {}
        """The slots without a stored game, for each unit that is being played."""
        self._unit_of: dict[int, int] = {}
        """The number of the unit of each of these slots."""
        self._news = asyncio.Event()
        self._changed = False
        self._has_claimed = False
        self._queue_length = 1
        """The number of games with clocks that should wait here."""
        self._claimed_at = 0.0

    def check_now(self) -> None:
        """Check for further games, because something has changed."""
        self._news.set()
        self._supply.progress.wake()

    def read_again(self) -> None:
        """Read the tournament again: it was paused, or its entries have changed."""
        self._changed = True
        self.check_now()

    def count_stored(self, games: list[FinishedGame]) -> None:
        """Count the games of a commit."""
        for game in games:
            number = self._unit_of.pop(game.ordinal, None)
            if number is not None:
                self._open_slots[number].discard(game.ordinal)

    @property
    def unfinished(self) -> list[int]:
        """Return the units that are being played and have games that are not stored."""
        return [number for number, slots in self._open_slots.items() if slots]

    async def wait_to_begin(self) -> None:
        """Wait for games from before a pause: a slot must not be played twice at the same time. See `Units`.

        All other units of this referee are released, because it may get no share of the tournament.
        """
        supply = self._supply
        while await self._release_units():
            await supply.progress.until(lambda: not supply.referee.count_running(supply.key))

    async def play(
        self, tournament: Tournament, conditions: GameConditions, opened_units: UnitsWithOpenings
    ) -> Tournament:
        """Claim units until the tournament changes. See `Units`."""
        supply = self._supply
        while not self._changed:
            self._news.clear()
            playing = self._share(conditions)
            if playing is None:
                supply.queue.end_turn(supply.key, 0)
                if self._open_slots:
                    await self._hand_over()
            if playing is None or not await self._add_games(tournament, opened_units, playing):
                # Continue after games were stored, after nodes have joined or left, or after some time.
                await wait_until_set(self._news, _CHECK_SECONDS)
        # Reset this before the tournament is read: a change during the reading must be noticed.
        self._changed = False
        return await supply.read_tournament()

    async def _add_games(
        self, tournament: Tournament, opened_units: UnitsWithOpenings, playing: GameConditions
    ) -> bool:
        """Give the referee games if it needs some. Return whether there can be more."""
        supply = self._supply
        settings = tournament.settings
        if settings.throughput:
            games = supply.queue.ask(tournament.owner_id, settings, playing, self._news.set)
            return bool(games) and await supply.use_turn(games, partial(self._claim, opened_units, playing))
        claimed = False
        most_queued = (
            self._queue_length if playing.timed else max(_FEWEST_QUEUED, min(playing.concurrency, _MOST_QUEUED))
        )
        queued = supply.referee.count_queued(supply.key)
        if settings.schedule.endless:
            # A ladder pairs the present bots again, so games that wait for absent ones must not delay others.
            queued -= supply.referee.count_queued_for_offline(supply.key)
        if queued < most_queued:
            async for part in self._claim(opened_units, playing):
                supply.referee.add(part)
                claimed = True
        return claimed

    def _set_queue_length(self) -> None:
        """Set the number of waiting games from the time since the last claim.

        If claims follow each other quickly, the queue is too short and bots could wait.
        """
        now = asyncio.get_running_loop().time()
        seconds = now - self._claimed_at
        self._claimed_at = now
        if seconds < _SOON_SECONDS:
            self._queue_length = min(2 * self._queue_length, _MOST_QUEUED)
        elif seconds > _LATE_SECONDS:
            self._queue_length = max(1, self._queue_length // 2)

    async def _hand_over(self) -> None:
        """Withdraw the games that have not begun, and give their units to other referees."""
        supply = self._supply
        supply.referee.withdraw(supply.key)
        supply.drop_claimed()
        running = {self._unit_of.get(game.slot.ordinal) for game in supply.referee.running(supply.key)}
        if self._open_slots.keys() - running:
            await self._release_units()

    async def _release_units(self) -> Collection[int]:
        """Release the units of this referee, so that others can claim them. Return those that it keeps.

        It keeps the units of running games, also of games that end during this call, because they are not stored yet.
        """
        supply, node, key = self._supply, self._node, self._supply.key
        running = [game.slot.ordinal for game in supply.referee.running(key)]
        await supply.recorder.flush()
        release = partial(hand_over, tournament_id=key, holder=node, running=running)
        kept_units = await supply.store.write_with_retries(release)
        self._open_slots = {number: slots for number, slots in self._open_slots.items() if number in kept_units}
        self._unit_of = {ordinal: number for ordinal, number in self._unit_of.items() if number in kept_units}
        return kept_units

    def _units(self) -> tuple[Collection[int], Collection[int]]:
        """Return the units that are being played, and those whose games are all stored."""
        played = [number for number, slots in self._open_slots.items() if not slots]
        if self._supply.is_idle() and not self._supply.recorder.backlog:
            # The slots without a stored game were refused or void: their units are claimed again.
            return (), played
        return self._open_slots.keys() - set(played), played

    async def _claim(self, opened_units: UnitsWithOpenings, playing: GameConditions) -> AsyncIterator[Unit]:
        """Claim units and yield their games. Report the units whose games are all stored."""
        holding, played = self._units()
        supply, node, key = self._supply, self._node, self._supply.key
        if playing.timed:
            self._set_queue_length()
        most = 1 if playing.timed and self._queue_length < _FEWEST_QUEUED else _MOST_UNITS
        # A read, because at the end of a tournament all referees look for units after each commit of another one.
        look = partial(has_free_units, tournament_id=key, holder=node, holding=holding)
        if not played and not await supply.store.read_with_retries(look):
            return
        claim_units = partial(claim_next, tournament_id=key, holder=node, holding=holding, played=played, most=most)
        claims = await supply.store.write_with_retries(claim_units)
        for number in played:
            del self._open_slots[number]
        if claims and not self._has_claimed:
            self._has_claimed = True
            logger.info("units_claimed", tournament=playing.name)
        for claim in claims:
            ordinals = {slot.ordinal for slot in claim.slots}
            self._open_slots[claim.number] = ordinals
            self._unit_of.update(dict.fromkeys(ordinals, claim.number))
        for claim in claims:
            unit = await supply.unit_of(claim, playing)
            async for part in opened_units.parts(unit, claim.game_pairs):
                yield part


class SharedPlay:
    """Plays all running tournaments of the database on a referee. Servers start, pause and cancel them."""

    def __init__(
        self, store: Store, referee: Referee, recorder: Recorder, bus: Bus, membership: Membership, bots: RemoteBots
    ) -> None:
        new_units = partial(SharedUnits, node=membership.node.name, share=self._share_of)
        self.local = LocalPlay(store, referee, recorder, bus, new_units, node=membership.node.name)
        """The tournaments that are played here."""
        self._store = store
        self._bus = bus
        self._membership = membership
        self._bots = bots
        self._news = asyncio.Event()
        self.installed: Collection[int] = ()
        """Bot versions that run on this machine."""
        self._offered: dict[str, set[int]] = {}
        """Bot versions that run on the machines of other referees, by referee."""
        self._reasons: dict[int, str] = {}
        """The reasons why running tournaments are not played, by key."""
        self._conceding_tasks: set[asyncio.Task[None]] = set()
        bots.plays_undivided = self._plays_undivided
        membership.on_change.append(self._news.set)
        membership.on_presumed_dead.append(self.resynchronise)
        self.local.on_stop = membership.step_back

    async def follow(self) -> None:
        """Play until cancelled."""
        with (
            listening(self._bus, CHANGED, lambda tournament: self.check_now()),
            listening(self._bus, ABANDONED, self.local.drop),
            listening(self._bus, CONCEDED, self._start_conceding),
            listening(self._bus, COMMITTED_HERE, self._stored),
            listening(self._bus, PROGRESSED, self._progressed),
            listening(self._bus, OFFERS, self._on_offers),
        ):
            loop = asyncio.get_running_loop()
            due = 0.0
            while True:
                reads_again = self._news.is_set() or loop.time() >= due
                self._news.clear()
                await self._check_all(reads_again)
                if reads_again:
                    due = loop.time() + _READ_AGAIN_SECONDS
                await wait_until_set(self._news, _CHECK_SECONDS)

    def resynchronise(self, own_units: frozenset[tuple[int, int]]) -> None:
        """Stop the tournaments of which others could claim units that were being played here.

        `own_units` are the units, by tournament and number, that this referee still holds.
        """
        for key, supply in self.local.supplies.items():
            if any((key, number) not in own_units for number in supply.units.unfinished):
                self.local.drop(key)
        self._news.set()

    def check_now(self) -> None:
        """Check all running tournaments, because something has changed."""
        self._news.set()

    def _start_conceding(self, key: int) -> None:
        task = asyncio.get_running_loop().create_task(self._concede(key))
        self._conceding_tasks.add(task)
        task.add_done_callback(self._conceding_tasks.discard)

    async def _concede(self, key: int) -> None:
        await self.local.concede(key)
        # The server waits a fixed time for these games.
        await self.local.recorder.flush()

    def _on_offers(self, message: pb.RefereePresence) -> None:
        offered = set() if message.leaving else {bot.version for bot in message.offers}
        if self._offered.get(message.referee, set()) != offered:
            self._offered[message.referee] = offered
            self._bots.divide_again()
            self.check_now()

    def _stored(self, report: CommitReport) -> None:
        for key, supply in self.local.supplies.items():
            supply.units.count_stored([game for game in report.games if game.tournament == key])
            supply.units.check_now()
        if report.stale:
            logger.warning("games_refused", games=report.stale)

    def _progressed(self, report: CommitReport) -> None:
        for progress in report.progress:
            supply = self.local.supplies.get(progress.tournament)
            if supply is not None:
                supply.units.check_now()

    async def _check_all(self, reads_again: bool) -> None:
        """Start and stop tournaments as the database says. If `reads_again`, read all of those that are played here."""
        local = self.local
        keys = tuple(local.supplies)

        def read(connection: Connection) -> list[Tournament]:
            played_here = [get_tournament_by_id(connection, key) for key in keys]
            return played_here + running_tournaments(connection)

        for tournament in await self._store.read_with_retries(read):
            key, state = tournament.id, tournament.state
            self._report_stop(tournament)
            if key in local.tasks and state is TournamentState.RUNNING:
                if reads_again and key in local.supplies:
                    local.supplies[key].units.read_again()
            elif state is not TournamentState.RUNNING or key not in local.problems:
                local.follow(tournament)

    def _report_stop(self, tournament: Tournament) -> None:
        """Log that play of a running tournament has stopped or resumed, and report it to the servers."""
        key = tournament.id
        before = self._reasons.pop(tournament.id, "")
        reason = tournament.reason if tournament.state is TournamentState.RUNNING else ""
        if reason:
            self._reasons[key] = reason
        if reason == before:
            return
        if not reason:
            if tournament.state is TournamentState.RUNNING:
                log_resumed(tournament.name)
        elif key not in self.local.problems:
            error, _, hint = reason.partition(". Fix: ")
            delay = _CHECK_SECONDS
            if tournament.retry_at is not None:
                delay = max(0.0, (tournament.retry_at - self._store.now_ms()) / 1000)
            log_stop(tournament.name, "STOPPED_ELSEWHERE", error, hint, delay)
        self._bus.publish(CHANGED, key)

    def _plays_undivided(self) -> bool:
        """Return whether this referee plays the games that cannot be divided.

        It is the referee with the most bots on its machine; of several with as many, the oldest.
        """
        own_name = self._membership.node.name

        def bots_at(name: str) -> int:
            return len(self.installed) if name == own_name else len(self._offered.get(name, ()))

        return max(self._membership.referees, key=bots_at, default=own_name) == own_name

    def _share_of(self, conditions: GameConditions) -> GameConditions | None:
        """Return this referee's share of a tournament's conditions. One referee gets all that cannot be divided."""
        referees = len(self._membership.referees)
        elsewhere = {version for name in self._membership.referees for version in self._offered.get(name, ())}
        seats = [conditions.concurrency]
        has_installed = False
        for version in set(conditions.players):
            online_seats = self._bots.seats(version)
            if version in self.installed:
                has_installed = True
            elif online_seats is not None:
                seats_untimed, seats_timed = online_seats
                seats.append(seats_timed if conditions.timed else seats_untimed)
            elif version in elsewhere:
                return None
        if min(seats) < referees:
            return conditions if self._plays_undivided() else None
        share = conditions.concurrency // max(1, referees)
        if has_installed and conditions.timed:
            share = min(share, self.local.queue.seats)
        return replace(conditions, concurrency=share)
