"""Enters the first bot of a newcomer in the tournament of their invitation, when it is online or uploaded."""

from functools import partial

import structlog

from noughts_server.core.errors import NoughtsError
from noughts_server.core.limits import Limits
from noughts_server.runtime.director import Director
from noughts_server.runtime.sessions import OnlineBot
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.people.bots import BotVersion
from noughts_server.store.tournaments.entries import Entry
from noughts_server.store.tournaments.first_entries import enter_first_bot, first_tournament
from noughts_server.store.tournaments.tournaments import get_tournament

logger = structlog.get_logger("noughts.registration")


class FirstEntries:
    """Enters first bots. The owners are those who registered with an invitation to a tournament."""

    def __init__(self, store: Store, director: Director, limits: Limits) -> None:
        self._store = store
        self._director = director
        self._limits = limits

    async def enter(self, bot: BotVersion, login: OnlineBot) -> None:
        """Enter the bot in the tournament of its owner's invitation, if no bot of the owner was entered so before.

        A refusal is logged; the owner's next login or upload tries again.
        """
        if self._store.outage is not None:
            return
        slug = await self._store.read(partial(first_tournament, owner_id=bot.owner_id))
        if not slug:
            return

        def join(connection: Connection) -> Entry | None:
            login.check_plays("bot", get_tournament(connection, slug).settings.variant)
            return enter_first_bot(connection, slug, bot, now_ms=self._store.now_ms(), limits=self._limits)

        try:
            entry = await self._store.write(join)
        except NoughtsError as error:
            logger.info("first_entry_refused", bot=bot.resource, tournament=slug, error=str(error))
            return
        if entry is None:
            return
        logger.info("first_entry", bot=bot.resource, tournament=slug, label=entry.label)
        joined = await self._store.read(lambda connection: get_tournament(connection, slug))
        if joined.state is TournamentState.RUNNING:
            self._director.play_running(joined)
