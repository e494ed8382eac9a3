"""Closes the sessions of tokens that were revoked or have expired, whichever process revoked them."""

import asyncio
from functools import partial

import grpc
import structlog

from noughts_referee.stream_closed import StreamClosed
from noughts_server.errors import DatabaseTrouble, NoughtsError, Unauthenticated
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store
from noughts_server.store.people.tokens import ended_tokens

logger = structlog.get_logger("noughts.tokens")

_PERIOD_SECONDS = 1.0


class TokenExpiry:
    """Looks once a second at the tokens of the sessions that are open: one query for all of them."""

    def __init__(self, store: Store, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    async def run(self) -> None:
        """Looks again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            try:
                await self.look()
            except DatabaseTrouble:
                pass  # reported where it occurs
            except NoughtsError as error:
                logger.warning("token_check_failed", reason=error.reason, error=str(error))

    async def look(self) -> None:
        """Closes the sessions of tokens that are worthless by now. Their bots lose their running games at once.

        Not after the grace: a bot may come back within it, and this one may not.
        """
        tokens = self._sessions.tokens()
        if not tokens:
            return
        now = self._store.now_ms()
        ended = await self._store.read(lambda connection: ended_tokens(connection, tokens, now_ms=now))
        for token, error in ended.items():
            logger.info("sessions_closed", token=token, reason=error.reason)
            self._sessions.expel(token, partial(_closed, error))


def _closed(error: Unauthenticated) -> StreamClosed:
    return StreamClosed(grpc.StatusCode.UNAUTHENTICATED, error.reason, f"{error}; log in with another one")
