"""Log events that name games and bots: bots that connect or disconnect, and games lost through a bot's own fault.

Ordinary games and moves are not logged.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter

import structlog

from noughts_referee.rules import FAULTS
from noughts_referee.work_units import FinishedGame, GameConditions
from noughts_server.resource_names import game_name
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.sessions import PRESENCE, Sessions
from noughts_server.store.games.results import CommitReport

logger = structlog.get_logger("noughts.events")

MOST_FAULTS = 20
"""Limit for one commit. A bot that disconnects can lose a thousand games at once."""

_TERMINATION = attrgetter("termination")


class EventLog:
    def __init__(self, bus: Bus, conditions: Callable[[int], GameConditions | None], sessions: Sessions) -> None:
        """Create the log. `conditions` returns those of a tournament, by key, whose games are played here."""
        self._bus = bus
        self._conditions = conditions
        self._sessions = sessions

    @contextmanager
    def writing(self) -> Iterator[None]:
        with listening(self._bus, COMMITTED, self._committed), listening(self._bus, PRESENCE, self._presence):
            yield

    def _presence(self, version: int) -> None:
        event = "bot_online" if self._sessions.online(version) else "bot_offline"
        logger.info(event, bot=self._sessions.name(version))

    def _committed(self, report: CommitReport) -> None:
        # Almost all commits end here.
        if FAULTS.isdisjoint(map(_TERMINATION, report.games)):
            return
        faults = [game for game in report.games if game.termination in FAULTS]
        for game in faults[:MOST_FAULTS]:
            self._fault(game)
        if len(faults) > MOST_FAULTS:
            logger.info("more_faults", games=len(faults) - MOST_FAULTS)

    def _fault(self, game: FinishedGame) -> None:
        conditions = self._conditions(game.tournament)
        if conditions is None:
            return
        outcome = game.outcome
        loser = game.second if outcome.loser else game.first
        bot = self._sessions.name(conditions.players[loser])
        reason = {"fault": game.fault} if game.fault else {}
        ply = len(game.moves) // (1 if conditions.variant.cells <= 256 else 2)
        place, ending = game_name(conditions.name, game.ordinal), str(outcome.termination)
        logger.info("fault", game=place, bot=bot, termination=ending, **reason, ply=ply)
