"""Cancel challenges that wait for an offline bot. Otherwise they would count as open for ever."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from noughts_server.core.errors import WrongState
from noughts_server.runtime.director import Director
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store
from noughts_server.store.tournaments.challenges import open_challenges

logger = structlog.get_logger("noughts.challenges")


async def expiring_challenges(store: Store, sessions: Sessions, director: Director, leads: Callable[[], bool]) -> None:
    """Cancel challenges that wait for an offline bot at two checks in a row, until cancelled.

    The checks are one reconnect timeout apart, but at least 1 s. Only the server of a cluster that `leads` checks.
    """
    waiting: set[str] = set()
    while True:
        await asyncio.sleep(max(1.0, sessions.settings.reconnect_timeout))
        before, waiting = waiting, set()
        with logging_errors(logger, "challenge_check_failed"):
            challenges = await store.read_with_retries(open_challenges) if leads() else {}
            waiting = {slug for slug, versions in challenges.items() if not all(map(sessions.online, versions))}
            for slug in waiting & before:
                logger.info("challenge_expired", tournament=slug)
                with suppress(WrongState):  # its last game has just been stored
                    await director.cancel(slug, reason="a bot went offline and did not reconnect in time")
