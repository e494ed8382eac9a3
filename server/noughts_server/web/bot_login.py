"""Logins of the website's own bots: each plays in a session, which is a task."""

import asyncio

from grpc import StatusCode

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.connection.stream import BotRefused
from noughts_bots.sdk.bot import Bot
from noughts_proto.security import SecurityProblem
from noughts_server.web.upstream import Failure

NAME_TAKEN = 403
"""The status of a login under a name that belongs to another owner."""
_TIMEOUT_SECONDS = 10.0
"""Timeout of a login, which the server normally accepts at once."""


async def log_in(bot: Bot, login: Login, tasks: asyncio.TaskGroup) -> "asyncio.Task[None]":
    """Return the bot's session when the server has accepted it. Raises Failure."""
    online: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    session = tasks.create_task(_session(bot, login, online), name=f"seat {login.name}")
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await online
    except BaseException as error:
        session.cancel()
        if isinstance(error, TimeoutError):
            raise Failure(503, "The server rejected the player.", "Try again in a moment.") from error
        raise
    return session


async def _session(bot: Bot, login: Login, online: "asyncio.Future[None]") -> None:
    """Run the bot's session. `online` gets the result of the login, or its error."""

    def on_event(event: SessionEvent) -> None:
        if isinstance(event, Online) and not online.done():
            online.set_result(None)

    try:
        await play(bot, login, on_event)
    except BotRefused as refusal:
        if not online.done():
            is_name_taken = refusal.code is StatusCode.PERMISSION_DENIED
            online.set_exception(
                Failure(NAME_TAKEN if is_name_taken else 409, f"The server rejected the player: {refusal}")
            )
    except SecurityProblem as problem:
        if not online.done():
            online.set_exception(Failure(501, str(problem), problem.advice))
