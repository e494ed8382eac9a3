"""The two calls by which an author plays a bot."""

import logging
import os
from pathlib import Path

from noughts_bots.bot import Bot
from noughts_bots.event_loop import run_loop
from noughts_bots.events import SessionEvent, tells_more
from noughts_bots.session import Login, play
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
    """Logs the bot in and plays until the server ends the session or the program is interrupted.

    `server` and `token` default to the environment's NOUGHTS_SERVER and NOUGHTS_TOKEN. `server` is HOST:PORT, or
    `HOST:PORT,HOST:PORT`: after a failure the bot connects to the next one. `name` defaults to the class's name in
    lower case. A lost connection is tried again. Raises BotRefused when the server does not want the
    bot, with the reason. What happens is logged as `noughts.bot`, to stderr unless the program has set logging up.

    A referee that starts the program itself (`exec{dial=true}:`) sets NOUGHTS_SERVER and NOUGHTS_TICKET, which counts
    instead of NOUGHTS_TOKEN. It is good for one login: a lost connection raises BotRefused then.

    With `tls` the connection is encrypted; `ca` is a file of certificates (PEM) to trust instead of the system's, by
    default the environment's NOUGHTS_TLS_CA. A token is sent to another machine in plaintext only if `insecure`;
    else that raises a ValueError.
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
    """As `run`, inside a running event loop."""
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

    def heard(event: SessionEvent) -> None:
        nonlocal before
        if tells_more(event, before):
            logger.info("%s", event)
        before = event

    await play(bot, login, heard)
