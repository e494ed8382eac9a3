"""The leading server of a cluster stores the reason why no referee plays a running tournament."""

import asyncio
from functools import partial
from typing import NamedTuple

import structlog

from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.core.resource_names import tournament_name
from noughts_server.runtime.bus import Bus
from noughts_server.runtime.endless_work import errors_logged
from noughts_server.runtime.tournament_play import CHANGED, log_stop
from noughts_server.store.engine.database import Store
from noughts_server.store.tournaments.stops import Unplayed, play_resumed, play_stopped, unplayed_tournaments

logger = structlog.get_logger("noughts.cluster")

_LOOK_SECONDS = 2.0
_LOOKS = 5
"""Number of checks in a row without a referee, after which a tournament counts as not played."""
_MOST_NAMED = 5


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
        self._looks: dict[int, int] = {}
        """The number of checks in a row without a referee, by the tournament's key."""

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            with errors_logged(logger, "standstill_check_failed"):
                await self._look()

    async def _look(self) -> None:
        tournaments = await self._store.read(unplayed_tournaments) if self._membership.first else []
        self._looks = {each.key: self._looks.get(each.key, 0) + 1 for each in tournaments}
        for each in tournaments:
            reason = self._reason(each) if each.reason or self._looks[each.key] >= _LOOKS else None
            if (str(reason) if reason else "") != each.reason:
                await self._tell(each, reason)

    async def _tell(self, tournament: Unplayed, reason: _Reason | None) -> None:
        key = tournament.key
        name = tournament_name(tournament.slug)
        now = self._store.now_ms()
        if reason:
            stop = partial(play_stopped, tournament_id=key, reason=str(reason), now_ms=now)
            if not await self._store.write(stop):
                return  # a long reason was stored in part
            log_stop(name, reason.name, reason.error, reason.hint, _LOOK_SECONDS)
        else:
            await self._store.write(partial(play_resumed, tournament_id=key, now_ms=now))
        self._bus.publish(CHANGED, key)

    def _reason(self, tournament: Unplayed) -> _Reason | None:
        if not self._membership.referees:
            return _NO_REFEREE
        offers = [{bot.version for bot in each.offers} for each in self._referee.referees.values()]
        installed = [bot for bot in tournament.bots if any(bot.version in offered for offered in offers)]
        if not installed or any(offered.issuperset(bot.version for bot in installed) for offered in offers):
            return None  # it waits for its turn
        labels = ", ".join(bot.label for bot in installed[:_MOST_NAMED])
        return _Reason("BOTS_APART", "no referee has all of its installed bots", f"offer {labels} at one referee.")
