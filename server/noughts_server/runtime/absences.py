"""Takes out entries that keep their games waiting: nobody waits for ever for a bot that does not come or answer."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

import structlog

from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions
from noughts_server.errors import NoughtsError, WrongState
from noughts_server.runtime.director import Director
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import Kind
from noughts_server.store.tournaments.tournaments import get_tournament_by_id

logger = structlog.get_logger("noughts.absences")

_LOOKS = 20
"""So often an entry must be waited for. Looks are counted and not seconds, in which the server may stand still."""

Playing = list[GameConditions]
_Waiting = tuple[int, int, tuple[int, int]]
"""Tournament, entry, and what of it is waited for (see `Referee.kept_waiting`)."""


class Absences:
    """Looks at the games that wait."""

    def __init__(
        self,
        store: Store,
        referee: Referee,
        director: Director,
        playing: Callable[[], Playing],
        seconds: float,
        refused: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """After so many seconds an entry is taken out of a tournament that is `playing`; 0: never.

        `refused` has bot versions that cannot play here, and why.
        """
        self._refused = refused
        self._store = store
        self._referee = referee
        self._director = director
        self._playing = playing
        self._seconds = seconds
        self._looks: dict[_Waiting, int] = {}
        """How often in a row that was waited for."""

    async def run(self) -> None:
        """Looks again and again, until it is cancelled."""
        while self._seconds:
            await asyncio.sleep(self._seconds / _LOOKS)
            try:
                await self._look()
            except NoughtsError as error:
                logger.warning("absence_check_failed", reason=error.reason, error=str(error))

    async def _look(self) -> None:
        before, self._looks = self._looks, {}
        leaving: dict[tuple[int, int], str] = {}
        slow: set[tuple[int, int]] = set()
        playing = {conditions.tournament: conditions for conditions in self._playing()}
        for key in playing:
            for entry, what in self._referee.kept_waiting(key):
                waiting = key, entry, what
                self._looks[waiting] = looks = before.get(waiting, 0) + 1
                if looks == _LOOKS // 2:
                    slow.add((key, entry))
                if looks > _LOOKS:
                    did = "gave no answer" if any(what) else "was away"
                    why = self._refused.get(playing[key].players[entry])
                    told = f"{did} for {self._seconds:g} s while its games waited"
                    leaving[key, entry] = f"{told}; {why}" if why else told
        for key, entry in slow:
            late = {"tournament": playing[key].name, "entry": playing[key].labels[entry]}
            logger.warning("entry_inactive", **late, limit_seconds=self._seconds)
        for (key, entry), reason in leaving.items():
            with suppress(WrongState):  # it is over meanwhile
                await self._take_out(playing[key], entry, reason)

    async def _take_out(self, conditions: GameConditions, entry: int, reason: str) -> None:
        key, label = conditions.tournament, conditions.labels[entry]
        tournament = await self._store.read_patiently(lambda connection: get_tournament_by_id(connection, key))
        logger.warning("entry_timed_out", tournament=conditions.name, entry=label, reason=reason)
        if tournament.kind is Kind.CHALLENGE:
            await self._director.cancel(tournament.slug, reason=f"{label} {reason}")
        elif tournament.kind is Kind.TEST:
            # Its remaining games, lost, would decide the test.
            await self._director.pause(tournament.slug, reason=f"{label} {reason}")
        else:
            await self._director.withdraw(tournament.slug, label, reason=reason)
