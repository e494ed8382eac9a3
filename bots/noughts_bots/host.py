"""A process that is one reference bot: `python -m noughts_bots.host SPEC GAMES`, address and ticket in the environment.

This is what `noughts match` and its like start for each of their specs.
"""

import asyncio
import ctypes
import gc
import os
import signal
import sys

from noughts_bots.bot import Bot
from noughts_bots.session import BotRefused, Login, play
from noughts_bots.specs import BotSpec, make_bot, parse_spec
from noughts_referee.rules import Position

SERVER_VARIABLE = "NOUGHTS_SERVER"
TICKET_VARIABLE = "NOUGHTS_TICKET"
PARENT_VARIABLE = "NOUGHTS_PARENT"
"""Process ID of whoever started this process."""

_SET_PARENT_DEATH_SIGNAL = 1


class SpecBot(Bot):
    """A reference bot for whatever variant is played: makes one bot for each variant it meets."""

    def __init__(self, spec: BotSpec, *, max_games: int = 0) -> None:
        self.spec = spec
        self.max_games = max_games
        self._bots: dict[str, Bot] = {}

    def choose(self, position: Position) -> int:
        bot = self._bots.get(position.variant.name)
        if bot is None:
            bot = self._bots[position.variant.name] = make_bot(self.spec, position.variant)
        return bot.choose(position)  # type: ignore[return-value]  # reference bots do not await


def tune_collector() -> None:
    """Lets the cycle collector look less often: a frame brings thousands of objects, and none is part of a cycle."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def main(arguments: list[str]) -> int:
    """Plays as the bot of the first argument until the server ends the session.

    The second argument is the number of games at once.
    """
    _die_with_parent()
    spec, games = arguments
    bot = SpecBot(parse_spec(spec), max_games=int(games))
    login = Login(os.environ[SERVER_VARIABLE], os.environ.pop(TICKET_VARIABLE), reconnect=False)
    tune_collector()
    try:
        asyncio.run(play(bot, login))
    except BotRefused as error:
        print(error, file=sys.stderr)  # noqa: T201  # whoever started this process reads it
        return 1
    return 0


def _die_with_parent() -> None:
    """Asks Linux to end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.environ.get(PARENT_VARIABLE, str(os.getppid())) != str(os.getppid()):
        sys.exit("the parent has gone already")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
