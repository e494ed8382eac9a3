"""Close the sessions of tokens that have expired, or that any process has revoked."""

import asyncio
from contextlib import suppress
from functools import partial

import grpc
import structlog

from noughts_referee.stream_closed import StreamClosed
from noughts_server.core.errors import DatabaseUnavailable
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store
from noughts_server.store.people.tokens import ended_tokens

logger = structlog.get_logger("noughts.tokens")

_PERIOD_SECONDS = 1.0


async def closing_ended_sessions(store: Store, sessions: Sessions) -> None:
    """Check the tokens of all open sessions once a second, in one query, until cancelled."""
    while True:
        await asyncio.sleep(_PERIOD_SECONDS)
        with logging_errors(logger, "token_check_failed"), suppress(DatabaseUnavailable):  # reported where it occurs
            await close_ended_sessions(store, sessions)


async def close_ended_sessions(store: Store, sessions: Sessions) -> None:
    """Close the sessions of tokens that have become invalid. Their bots lose their running games at once.

    These bots get no reconnect timeout, because they cannot log in again.
    """
    tokens = sessions.tokens()
    if not tokens:
        return
    ended = await store.read(partial(ended_tokens, token_ids=tokens, now_ms=store.now_ms()))
    for token, error in ended.items():
        logger.info("sessions_closed", token=token, reason=error.reason)
        reason = f"{error}; log in with another one"
        sessions.expel(token, partial(StreamClosed, grpc.StatusCode.UNAUTHENTICATED, error.reason, reason))
