"""The functions `run` and `run_async`, with which an author connects a bot to a server."""

import logging
import os
from pathlib import Path

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.connection.events import SessionEvent, is_news
from noughts_bots.connection.session import Login, play
from noughts_bots.sdk.bot import Bot
from noughts_proto.security import dialling_from_environment
from noughts_proto.transport import DEFAULT_SERVER, SERVER_VARIABLE, TICKET_VARIABLE, TOKEN_VARIABLE

logger = logging.getLogger("noughts.bot")


def run(
    bot: Bot,
    *,
    server: str = "",
    token: str = "",
    name: str = "",
    version: str = "",
    tls: bool = False,
    ca: str | Path = "",
    insecure: bool = False,
) -> None:
    """Log the bot in and play until the server ends the session or the program is interrupted.

    `server` is HOST:PORT, or several with commas: after a failure the bot connects to the next one. Defaults: the
    environment variables NOUGHTS_SERVER and NOUGHTS_TOKEN, and as `name` the class's name in lower case. The bot
    reconnects after a lost connection. Raises BotRefused with the reason if the server rejects the bot. Events are
    logged as `noughts.bot`, to stderr unless the program has configured logging.

    A referee that starts the program itself (`exec{dial=true}:`) sets NOUGHTS_SERVER and NOUGHTS_TICKET, which replaces
    NOUGHTS_TOKEN. The ticket is valid for one login: after that a lost connection raises BotRefused.

    `tls` encrypts the connection. `ca` is a file of certificates (PEM) to trust instead of the system's. Default:
    NOUGHTS_TLS_CA. Without `insecure`, sending a token to another machine in plaintext raises ValueError.
    """
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(f"{name or type(bot).__name__.lower()}: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    run_loop(run_async(bot, server=server, token=token, name=name, version=version, tls=tls, ca=ca, insecure=insecure))


async def run_async(
    bot: Bot,
    *,
    server: str = "",
    token: str = "",
    name: str = "",
    version: str = "",
    tls: bool = False,
    ca: str | Path = "",
    insecure: bool = False,
) -> None:
    """Do the same as `run` in a running event loop."""
    ticket = "" if token else os.environ.get(TICKET_VARIABLE, "")
    login = Login(
        server=server or os.environ.get(SERVER_VARIABLE, DEFAULT_SERVER),
        token=token or ticket or os.environ.get(TOKEN_VARIABLE, ""),
        name=name or type(bot).__name__.lower(),
        version=version,
        dialling=dialling_from_environment(tls=tls, ca=Path(ca) if ca else None, insecure=insecure),
        reconnect=not ticket,
    )
    before: SessionEvent | None = None

    def log_news(event: SessionEvent) -> None:
        nonlocal before
        if is_news(event, before):
            logger.info("%s", event)
        before = event

    await play(bot, login, log_news)
