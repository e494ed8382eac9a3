"""Withdraw entries that keep their games waiting, because a bot that neither connects nor answers would delay them.

An endless tournament keeps an entry that is away: its bot may return after days. It loses the games that wait for it,
and soon, because the ratings of all bots wait for the results of these games.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions
from noughts_server.core.errors import WrongState
from noughts_server.runtime.director import Director
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import Kind
from noughts_server.store.tournaments.tournaments import get_tournament_by_id

logger = structlog.get_logger("noughts.absences")

_CHECKS = 20
"""The number of checks in a row after which an entry is withdrawn.

Seconds would also count while the server is suspended.
"""

_ENDLESS_SECONDS = 60.0
"""Time for which an entry of an endless tournament can be away while games wait for it."""

_Waiting = tuple[int, int, tuple[int, int]]
"""Key of the tournament, number of the entry, open question as (game, ply); (0, 0) if the bot is offline."""
_AWAY = (0, 0)


@dataclass(eq=False)
class InactivityCheck:
    """Checks the games that wait for a bot, and withdraws entries that keep them waiting too long."""

    store: Store
    referee: Referee
    director: Director
    playing: Callable[[], list[GameConditions]]
    """Returns the conditions of the tournaments that are being played."""
    seconds: float
    """Inactivity timeout after which an entry is withdrawn; 0: never."""
    refused: Mapping[int, str] = field(default_factory=dict)
    """Bot versions that cannot play here, with the reason."""
    _checks: dict[_Waiting, int] = field(default_factory=dict, init=False)
    """The number of checks in a row in which games waited for the same entry and question."""

    async def run(self) -> None:
        """Check until cancelled."""
        while self.seconds:
            await asyncio.sleep(self.seconds / _CHECKS)
            with logging_errors(logger, "absence_check_failed"):
                await self._check_entries()

    async def _check_entries(self) -> None:
        """Count a check for each entry that keeps games waiting. Warn after half of the checks, withdraw after all."""
        checks_before = self._checks
        self._checks = {}
        inactive: set[tuple[int, int]] = set()
        """Entries to warn about, by the keys of tournament and entry."""
        reasons: dict[tuple[int, int], str] = {}
        """The reasons for withdrawals, by the keys of tournament and entry."""
        losing: dict[int, dict[int, str]] = {}
        """The faults of entries that lose the games which wait for them, by the keys of tournament and entry."""
        playing = {conditions.tournament: conditions for conditions in self.playing()}
        for key in playing:
            for entry, question in self.referee.kept_waiting(key):
                waiting = key, entry, question
                self._checks[waiting] = checks = checks_before.get(waiting, 0) + 1
                if playing[key].endless and question == _AWAY:
                    if checks > self._endless_checks:
                        seconds = self._endless_checks * self.seconds / _CHECKS
                        losing.setdefault(key, {})[entry] = self._fault(playing[key], entry, "was away", seconds)
                    continue
                if checks == _CHECKS // 2:
                    inactive.add((key, entry))
                if checks > _CHECKS:
                    behaviour = "was away" if question == _AWAY else "gave no answer"
                    reasons[key, entry] = self._fault(playing[key], entry, behaviour, self.seconds)
        for key, faults in losing.items():
            self.referee.forfeit_games(key, faults)
        for key, entry in inactive:
            conditions = playing[key]
            logger.warning(
                "entry_inactive",
                tournament=conditions.name,
                entry=conditions.labels[entry],
                limit_seconds=self.seconds,
            )
        for (key, entry), reason in reasons.items():
            with suppress(WrongState):  # the tournament has ended in the meantime
                await self._stop_waiting(playing[key], entry, reason)

    def _fault(self, conditions: GameConditions, entry: int, behaviour: str, seconds: float) -> str:
        """Return the fault of an entry, with the reason why its bot cannot play here, if it cannot."""
        fault = f"{behaviour} for {seconds:g} s while its games waited"
        refusal = self.refused.get(conditions.players[entry])
        return f"{fault}; {refusal}" if refusal else fault

    @property
    def _endless_checks(self) -> int:
        """The number of checks after which an entry that is away loses its waiting games in an endless tournament."""
        return max(1, round(_CHECKS * min(1.0, _ENDLESS_SECONDS / self.seconds)))

    async def _stop_waiting(self, conditions: GameConditions, entry: int, reason: str) -> None:
        """Withdraw the entry; cancel a challenge, and pause a test."""
        key = conditions.tournament
        label = conditions.labels[entry]
        tournament = await self.store.read_with_retries(lambda connection: get_tournament_by_id(connection, key))
        logger.warning("entry_timed_out", tournament=conditions.name, entry=label, reason=reason)
        if tournament.kind is Kind.CHALLENGE:
            await self.director.cancel(tournament.slug, reason=f"{label} {reason}")
        elif tournament.kind is Kind.TEST:
            # A withdrawn entry loses its remaining games, which would decide the test.
            await self.director.pause(tournament.slug, reason=f"{label} {reason}")
        else:
            await self.director.withdraw(tournament.slug, label, reason=reason)
