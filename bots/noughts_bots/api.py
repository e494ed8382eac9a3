"""The two calls by which an author plays a bot."""

import logging
import os

from noughts_bots.bot import Bot
from noughts_bots.loop import run_loop
from noughts_bots.session import Login, play

_DEFAULT_SERVER = "127.0.0.1:7450"

logger = logging.getLogger("noughts.bot")


def run(
    bot: Bot,
    *,
    server: str = "",
    token: str = "",
    name: str = "",
    version: str = "",
    tls: bool = False,
) -> None:
    """Logs the bot in and plays until the server ends the session or the program is interrupted.

    `server` (HOST:PORT) and `token` default to the environment's NOUGHTS_SERVER and NOUGHTS_TOKEN, `name` to the
    class's name in lower case. A lost connection is tried again. Raises BotRefused when the server does not want the
    bot, with the reason. What happens is logged as `noughts.bot`, to stderr unless the program has set logging up.
    """
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(f"{name or type(bot).__name__.lower()}: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    run_loop(run_async(bot, server=server, token=token, name=name, version=version, tls=tls))


async def run_async(
    bot: Bot,
    *,
    server: str = "",
    token: str = "",
    name: str = "",
    version: str = "",
    tls: bool = False,
) -> None:
    """As `run`, inside a running event loop."""
    login = Login(
        server=server or os.environ.get("NOUGHTS_SERVER", _DEFAULT_SERVER),
        token=token or os.environ.get("NOUGHTS_TOKEN", ""),
        name=name or type(bot).__name__.lower(),
        version=version,
        tls=tls,
    )
    await play(bot, login, logger.info)
