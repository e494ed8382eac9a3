"""Ends challenges that wait for a bot which does not come back: they would count as open for ever."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from noughts_server.errors import NoughtsError, WrongState
from noughts_server.runtime.director import Director
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store
from noughts_server.store.tournaments.challenges import open_challenges

logger = structlog.get_logger("noughts.challenges")


class ChallengeExpiry:
    """Looks at the open challenges once in a grace: one query for all of them."""

    def __init__(
        self, store: Store, sessions: Sessions, director: Director, leads: Callable[[], bool] = lambda: True
    ) -> None:
        """Of the servers of a cluster only the one that `leads` does it."""
        self._store = store
        self._sessions = sessions
        self._director = director
        self._leads = leads
        self._waiting: set[str] = set()
        """Challenges of which a bot was not there when last looked at."""

    async def run(self) -> None:
        """Looks again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(max(1.0, self._sessions.settings.grace))
            if not self._leads():
                self._waiting.clear()
                continue
            try:
                await self._look()
            except NoughtsError as error:
                logger.warning("challenge_check_failed", reason=error.reason, error=str(error))

    async def _look(self) -> None:
        """Cancels those that have waited since the last look, which is as long as a bot may be away."""
        challenges = await self._store.read_patiently(open_challenges)
        waiting = {slug for slug, versions in challenges.items() if not all(map(self._sessions.online, versions))}
        for slug in waiting & self._waiting:
            logger.info("challenge_expired", tournament=slug)
            with suppress(WrongState):  # its last game has just been stored
                await self._director.cancel(slug, reason="a bot went offline and did not reconnect in time")
        self._waiting = waiting
