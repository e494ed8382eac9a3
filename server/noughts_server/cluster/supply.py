"""The games that a referee of a cluster plays: units of every running tournament, claimed in the database.

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
from noughts_server.cluster.codecs import REFEREES
from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.remote_bots import RemoteBots
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import set_within
from noughts_server.runtime.recorder import COMMITTED, Recorder
from noughts_server.runtime.supply import Supply
from noughts_server.runtime.tournament_play import ABANDONED, CHANGED, CONCEDED, LocalPlay, log_stop
from noughts_server.runtime.units_with_openings import UnitsWithOpenings
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.results import CommitReport
from noughts_server.store.tournaments.claims import claim_next, hand_over
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id, running_tournaments

logger = structlog.get_logger("noughts.cluster")

_LOOK_SECONDS = 1.0
_FEWEST_QUEUED, _MOST_QUEUED = 64, 1_024
# The most units of one claim.
_MOST_UNITS = 4
# Games with clocks that wait here could be played elsewhere. So the queue holds those of about this many seconds.
_SOON_SECONDS, _LATE_SECONDS = 0.5, 2.0


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
        self._held: dict[int, set[int]] = {}
        """The slots without a stored game, for each unit that is being played."""
        self._unit_of: dict[int, int] = {}
        self._news = asyncio.Event()
        self._changed = False
        self._has_played = False
        self._ahead = 1
        """The number of games with clocks that wait here."""
        self._claimed_at = 0.0

    def look(self) -> None:
        """Check for further games, because something has changed."""
        self._news.set()
        self._supply.progress.made()

    def changed(self) -> None:
        """Read the tournament again: it was paused, or its entries have changed."""
        self._changed = True
        self.look()

    def stored(self, games: list[FinishedGame]) -> None:
        """Count the games of a commit."""
        for game in games:
            number = self._unit_of.pop(game.ordinal, None)
            if number is not None:
                self._held[number].discard(game.ordinal)

    @property
    def unfinished(self) -> list[int]:
        """Return the units that are being played and have games that are not stored."""
        return [number for number, slots in self._held.items() if slots]

    async def wait_to_begin(self) -> None:
        """Wait for games from before a pause: a slot must not be played twice at the same time. See `Units`."""
        supply = self._supply
        await supply.progress.until(lambda: not supply.referee.in_flight(supply.key))
        await supply.recorder.flush()

    async def play(self, tournament: Tournament, conditions: GameConditions, opened: UnitsWithOpenings) -> Tournament:
        """Claim units until the tournament changes. See `Units`."""
        supply = self._supply
        while not self._changed:
            self._news.clear()
            playing = self._share(conditions)
            if playing is None:
                supply.queue.end_turn(supply.key, 0)
                if self._held:
                    await self._hand_over()
            if playing is None or not await self._add_games(tournament, opened, playing):
                # Games were stored, nodes have joined or left, or time has passed.
                await set_within(self._news, _LOOK_SECONDS)
        # A change after this line can be missing in what is read next, so it must be noticed.
        self._changed = False
        return await supply.read_tournament()

    async def _add_games(self, tournament: Tournament, opened: UnitsWithOpenings, playing: GameConditions) -> bool:
        """Give the referee games if it needs some. Return whether there can be more."""
        supply = self._supply
        settings = tournament.settings
        if settings.throughput:
            games = supply.queue.ask(tournament.owner_id, settings, playing, self._news.set)
            return bool(games) and await supply.use_turn(games, partial(self._claim, opened, playing))
        claimed = False
        most_queued = self._ahead if playing.timed else max(_FEWEST_QUEUED, min(playing.concurrency, _MOST_QUEUED))
        if supply.referee.queued(supply.key) < most_queued:
            async for part in self._claim(opened, playing):
                supply.referee.add(part)
                claimed = True
        return claimed

    def _look_ahead(self) -> None:
        """Set the number of waiting games from the time that the last claim lasted, so that the bots need not wait."""
        now = asyncio.get_running_loop().time()
        took = now - self._claimed_at
        self._claimed_at = now
        if took < _SOON_SECONDS:
            self._ahead = min(2 * self._ahead, _MOST_QUEUED)
        elif took > _LATE_SECONDS:
            self._ahead = max(1, self._ahead // 2)

    async def _hand_over(self) -> None:
        """Give the units of games that have not begun to other referees."""
        supply, node, key = self._supply, self._node, self._supply.key
        supply.referee.withdraw(key)
        supply.drop_claimed()
        await supply.recorder.flush()
        if supply.referee.in_flight(key):
            return  # the other games of their units are played afterwards
        await supply.store.write_patiently(lambda connection: hand_over(connection, key, node))
        self._held.clear()
        self._unit_of.clear()

    def _units(self) -> tuple[Collection[int], Collection[int]]:
        """Return the units that are being played, and those whose games are all stored."""
        played = [number for number, slots in self._held.items() if not slots]
        if self._supply.is_idle() and not self._supply.recorder.backlog:
            # Their missing games were refused or void, and are claimed again.
            return (), played
        return self._held.keys() - set(played), played

    async def _claim(self, opened: UnitsWithOpenings, playing: GameConditions) -> AsyncIterator[Unit]:
        """Claim units and return their games."""
        holding, played = self._units()
        supply, node, key = self._supply, self._node, self._supply.key
        if playing.timed:
            self._look_ahead()
        most = 1 if playing.timed and self._ahead < _FEWEST_QUEUED else _MOST_UNITS
        claim_units = partial(claim_next, tournament_id=key, holder=node, holding=holding, played=played, most=most)
        claims = await supply.store.write_patiently(claim_units)
        for number in played:
            del self._held[number]
        if claims and not self._has_played:
            self._has_played = True
            logger.info("units_claimed", tournament=playing.name)
        for claim in claims:
            ordinals = {slot.ordinal for slot in claim.slots}
            self._held[claim.number] = ordinals
            self._unit_of.update(dict.fromkeys(ordinals, claim.number))
        for claim in claims:
            unit = Unit(playing, claim.attempt, claim.slots, begun=claim.begun)
            async for part in opened.parts(unit, claim.encounters):
                yield part


class SharedPlay:
    """Plays all running tournaments of the database on a referee. Servers start, pause and cancel them."""

    def __init__(
        self, store: Store, referee: Referee, recorder: Recorder, bus: Bus, membership: Membership, bots: RemoteBots
    ) -> None:
        new_units = partial(SharedUnits, node=membership.node.name, share=self._shared)
        self.local = LocalPlay(store, referee, recorder, bus, new_units, node=membership.node.name)
        """The tournaments that are played here."""
        self._store = store
        self._bus = bus
        self._membership = membership
        self._bots = bots
        self._looking = asyncio.Event()
        self.installed: Collection[int] = ()
        """Bot versions that run on this machine."""
        self._offered: dict[str, set[int]] = {}
        """Bot versions that run on the machines of other referees, by referee."""
        self._reasons: dict[int, str] = {}
        """The reasons why running tournaments are not played, by key."""
        self._conceding: set[asyncio.Task[None]] = set()
        bots.is_home = self._is_home
        membership.on_change.append(self._looking.set)
        membership.on_presumed_dead.append(self.resynchronise)
        self.local.on_stop = membership.step_back

    async def follow(self) -> None:
        """Play until cancelled."""
        with (
            listening(self._bus, CHANGED, lambda tournament: self.look()),
            listening(self._bus, ABANDONED, self.local.drop),
            listening(self._bus, CONCEDED, self._concede),
            listening(self._bus, COMMITTED, self._stored),
            listening(self._bus, REFEREES, self._hear),
        ):
            while True:
                self._looking.clear()
                await self._look()
                await set_within(self._looking, _LOOK_SECONDS)

    def resynchronise(self, kept: frozenset[tuple[int, int]]) -> None:
        """Stop the tournaments of which others could claim units that were being played here.

        `kept` are the units, by tournament and number, that this referee still holds.
        """
        for key, supply in self.local.supplies.items():
            if any((key, number) not in kept for number in supply.units.unfinished):
                self.local.drop(key)
        self._looking.set()

    def look(self) -> None:
        """Check all running tournaments, because something has changed."""
        self._looking.set()

    def _concede(self, key: int) -> None:
        task = asyncio.get_running_loop().create_task(self.local.concede(key))
        self._conceding.add(task)
        task.add_done_callback(self._conceding.discard)

    def _hear(self, message: pb.RefereePresence) -> None:
        offered = set() if message.leaving else {bot.version for bot in message.offers}
        if self._offered.get(message.referee, set()) != offered:
            self._offered[message.referee] = offered
            self._bots.shares_changed()
            self.look()

    def _stored(self, report: CommitReport) -> None:
        for key, supply in self.local.supplies.items():
            supply.units.stored([game for game in report.games if game.tournament == key])
            supply.units.look()
        if report.stale:
            logger.warning("games_refused", games=report.stale)

    async def _look(self) -> None:
        local = self.local
        known = tuple(local.supplies)
        states = await self._store.read_patiently(
            lambda connection: (
                [get_tournament_by_id(connection, key) for key in known] + running_tournaments(connection)
            )
        )
        for tournament in states:
            key, state = tournament.id, tournament.state
            self._report(tournament)
            if key in local.tasks and state is TournamentState.RUNNING:
                if key in local.supplies:
                    local.supplies[key].units.changed()
            elif state is not TournamentState.RUNNING or key not in local.problems:
                local.follow(tournament)

    def _report(self, tournament: Tournament) -> None:
        """Log, and tell the servers, that play of a running tournament has stopped or resumed."""
        key = tournament.id
        before = self._reasons.pop(tournament.id, "")
        reason = tournament.reason if tournament.state is TournamentState.RUNNING else ""
        if reason:
            self._reasons[key] = reason
        if reason == before:
            return
        if not reason:
            logger.info("tournament_resumed", tournament=tournament.name)
        elif key not in self.local.problems:
            error, _, hint = reason.partition(". Fix: ")
            due = None if tournament.retry_at is None else (tournament.retry_at - self._store.now_ms()) / 1000
            log_stop(tournament.name, "STOPPED_ELSEWHERE", error, hint, _LOOK_SECONDS if due is None else max(0.0, due))
        self._bus.publish(CHANGED, key)

    def _is_home(self) -> bool:
        """Whether this referee plays games that cannot be divided: most bots are on its machine, or it is oldest."""
        mine = self._membership.node.name

        def installed(name: str) -> int:
            return len(self.installed) if name == mine else len(self._offered.get(name, ()))

        return max(self._membership.referees, key=installed, default=mine) == mine

    def _shared(self, conditions: GameConditions) -> GameConditions | None:
        """Return this referee's share of a tournament's conditions. One referee gets all that cannot be divided."""
        referees = len(self._membership.referees)
        elsewhere = {version for name in self._membership.referees for version in self._offered.get(name, ())}
        seats = [conditions.concurrency]
        installed = False
        for version in set(conditions.players):
            known = self._bots.seats(version)
            if version in self.installed:
                installed = True
            elif known is not None:
                seats.append(known[conditions.timed])
            elif version in elsewhere:
                return None
        if min(seats) < referees:
            return conditions if self._is_home() else None
        share = conditions.concurrency // max(1, referees)
        return replace(
            conditions, concurrency=min(share, self.local.queue.seats) if installed and conditions.timed else share
        )
