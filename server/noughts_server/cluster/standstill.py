"""The leading server of a cluster stores the reason why no referee plays a running tournament."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import structlog

from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.core.resource_names import tournament_name
from noughts_server.runtime.bus import Bus
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.runtime.tournament_play import CHANGED, log_resumed, log_stop
from noughts_server.store.engine.database import Store
from noughts_server.store.tournaments.stops import Unplayed, play_resumed, play_stopped, unplayed_tournaments
from noughts_server.store.tournaments.tournaments import Tournament, running_tournaments

logger = structlog.get_logger("noughts.cluster")

_CHECK_SECONDS = 2.0
_CHECKS = 5
"""Number of checks in a row without a referee, after which a tournament counts as not played."""
_MOST_NAMED = 5
"""Bots that a reason names at most."""


class _Reason(NamedTuple):
    """The reason why a tournament is not played."""

    name: str
    """In UPPER_SNAKE, for the log."""
    error: str
    hint: str

    def __str__(self) -> str:
        return f"{self.error}. Fix: {self.hint}"


_NO_REFEREE = _Reason("NO_REFEREE", "no referee is connected", "start one with `noughts referee`.")


class Standstill:
    """Checks the tournaments of which no referee holds a unit."""

    def __init__(self, store: Store, bus: Bus, membership: Membership, referee: RemoteReferee) -> None:
        self._store = store
        self._bus = bus
        self._membership = membership
        self._referee = referee
        self._checks: dict[int, int] = {}
        """The number of checks in a row without a referee, by the tournament's key."""
        self._stopped: set[int] = set()
        """The keys of the tournaments that the log of this server says have stopped."""

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            with logging_errors(logger, "standstill_check_failed"):
                await self._check()

    async def _check(self) -> None:
        tournaments = await self._store.read(unplayed_tournaments) if self._membership.first else []
        self._checks = {tournament.key: self._checks.get(tournament.key, 0) + 1 for tournament in tournaments}
        for tournament in tournaments:
            is_due = bool(tournament.reason) or self._checks[tournament.key] >= _CHECKS
            reason = self._reason(tournament) if is_due else None
            if (str(reason) if reason else "") != tournament.reason:
                await self._store_reason(tournament, reason)
        if self._stopped:
            self._log_resumed(await self._store.read(running_tournaments))

    def _log_resumed(self, running: Sequence[Tournament]) -> None:
        """Log which tournaments that had stopped are played again."""
        for tournament in running:
            if tournament.id in self._stopped and not tournament.reason:
                log_resumed(tournament.name)
        self._stopped &= {tournament.id for tournament in running if tournament.reason}

    async def _store_reason(self, tournament: Unplayed, reason: _Reason | None) -> None:
        key = tournament.key
        name = tournament_name(tournament.slug)
        now = self._store.now_ms()
        if reason:
            stop = partial(play_stopped, tournament_id=key, reason=str(reason), now_ms=now)
            if not await self._store.write(stop):
                return  # The reason is stored already; of a long reason, only its beginning is stored.
            log_stop(name, reason.name, reason.error, reason.hint, _CHECK_SECONDS)
            self._stopped.add(key)
        else:
            await self._store.write(partial(play_resumed, tournament_id=key, now_ms=now))
        self._bus.publish(CHANGED, key)

    def _reason(self, tournament: Unplayed) -> _Reason | None:
        if not self._membership.referees:
            return _NO_REFEREE
        offers = [{bot.version for bot in referee.offers} for referee in self._referee.referees.values()]
        installed = [bot for bot in tournament.bots if any(bot.version in versions for versions in offers)]
        if not installed or any(versions.issuperset(bot.version for bot in installed) for versions in offers):
            return None  # A referee can play it: the tournament waits for its turn.
        labels = ", ".join(bot.label for bot in installed[:_MOST_NAMED])
        return _Reason("BOTS_APART", "no referee has all of its installed bots", f"offer {labels} at one referee.")
