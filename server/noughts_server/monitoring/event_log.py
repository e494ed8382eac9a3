"""Log events that name games and bots: bots that connect or disconnect, and games lost through a bot's own fault.

Ordinary games and moves are not logged.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter

import structlog

from noughts_referee.rules import FORFEITS, is_fault
from noughts_referee.work_units import FinishedGame, GameConditions, bytes_of_a_move
from noughts_server.core.resource_names import game_name
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.recorder import COMMITTED_HERE
from noughts_server.runtime.sessions import PRESENCE, Sessions
from noughts_server.store.games.results import CommitReport

logger = structlog.get_logger("noughts.events")

MOST_FAULTS = 20
"""Faults that are logged for one commit. A bot that disconnects can lose a thousand games at once."""

_TERMINATION = attrgetter("termination")


@contextmanager
def logging_events(bus: Bus, conditions: Callable[[int], GameConditions | None], sessions: Sessions) -> Iterator[None]:
    """Log events inside the block.

    `conditions` returns the conditions of the tournament with this key; None if this server does not play its games.
    """

    def on_presence(version: int) -> None:
        bot = sessions.name(version)
        if sessions.online(version):
            logger.info("bot_online", bot=bot)
        else:
            reason = sessions.offline_because(version)
            facts = {"reason": reason} if reason else {}
            logger.info("bot_offline", bot=bot, **facts)

    def on_commit(report: CommitReport) -> None:
        # Almost all commits end here.
        if FORFEITS.isdisjoint(map(_TERMINATION, report.games)):
            return
        faults = [game for game in report.games if is_fault(game.termination, game.fault)]
        for game in faults[:MOST_FAULTS]:
            game_conditions = conditions(game.tournament)
            if game_conditions is not None:
                _log_fault(game, game_conditions, sessions)
        if len(faults) > MOST_FAULTS:
            logger.info("more_faults", games=len(faults) - MOST_FAULTS)

    with listening(bus, COMMITTED_HERE, on_commit), listening(bus, PRESENCE, on_presence):
        yield


def _log_fault(game: FinishedGame, conditions: GameConditions, sessions: Sessions) -> None:
    outcome = game.outcome
    loser = game.second if outcome.loser == 1 else game.first
    bot = sessions.name(conditions.players[loser])
    reason = {"fault": game.fault} if game.fault else {}
    ply = len(game.moves) // bytes_of_a_move(conditions.variant.cells)
    name = game_name(conditions.name, game.ordinal)
    termination = str(outcome.termination)
    logger.info("fault", game=name, bot=bot, termination=termination, **reason, ply=ply)
