"""Withdraw entries that keep their games waiting, because a bot that neither connects nor answers would delay them."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions
from noughts_server.core.errors import WrongState
from noughts_server.runtime.director import Director
from noughts_server.runtime.endless_work import errors_logged
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import Kind
from noughts_server.store.tournaments.tournaments import get_tournament_by_id

logger = structlog.get_logger("noughts.absences")

_LOOKS = 20
"""The checks in a row after which an entry is withdrawn. A count, because the server may stand still for seconds."""

_Waiting = tuple[int, int, tuple[int, int]]
"""Tournament, entry, and the missing answer or connection (see `Referee.kept_waiting`)."""


@dataclass(eq=False)
class Absences:
    """Checks the games that wait for a bot."""

    store: Store
    referee: Referee
    director: Director
    playing: Callable[[], list[GameConditions]]
    """Returns the conditions of the tournaments that are being played."""
    seconds: float
    """Inactivity timeout after which an entry is withdrawn; 0: never."""
    refused: Mapping[int, str] = field(default_factory=dict)
    """Bot versions that cannot play here, with the reason."""
    _looks: dict[_Waiting, int] = field(default_factory=dict, init=False)
    """The number of checks in a row that found an entry waited for."""

    async def run(self) -> None:
        """Check until cancelled."""
        while self.seconds:
            await asyncio.sleep(self.seconds / _LOOKS)
            with errors_logged(logger, "absence_check_failed"):
                await self._look()

    async def _look(self) -> None:
        before, self._looks = self._looks, {}
        leaving: dict[tuple[int, int], str] = {}
        slow: set[tuple[int, int]] = set()
        playing = {conditions.tournament: conditions for conditions in self.playing()}
        for key in playing:
            for entry, what in self.referee.kept_waiting(key):
                waiting = key, entry, what
                self._looks[waiting] = looks = before.get(waiting, 0) + 1
                if looks == _LOOKS // 2:
                    slow.add((key, entry))
                if looks > _LOOKS:
                    did = "gave no answer" if any(what) else "was away"
                    why = self.refused.get(playing[key].players[entry])
                    fault = f"{did} for {self.seconds:g} s while its games waited"
                    leaving[key, entry] = f"{fault}; {why}" if why else fault
        for key, entry in slow:
            late = {"tournament": playing[key].name, "entry": playing[key].labels[entry]}
            logger.warning("entry_inactive", **late, limit_seconds=self.seconds)
        for (key, entry), reason in leaving.items():
            with suppress(WrongState):  # it has ended in the meantime
                await self._take_out(playing[key], entry, reason)

    async def _take_out(self, conditions: GameConditions, entry: int, reason: str) -> None:
        key = conditions.tournament
        label = conditions.labels[entry]
        tournament = await self.store.read_patiently(lambda connection: get_tournament_by_id(connection, key))
        logger.warning("entry_timed_out", tournament=conditions.name, entry=label, reason=reason)
        if tournament.kind is Kind.CHALLENGE:
            await self.director.cancel(tournament.slug, reason=f"{label} {reason}")
        elif tournament.kind is Kind.TEST:
            # If its remaining games were lost, they would decide the test.
            await self.director.pause(tournament.slug, reason=f"{label} {reason}")
        else:
            await self.director.withdraw(tournament.slug, label, reason=reason)
