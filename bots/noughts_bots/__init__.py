"""For authors of bots: a class with one method, and a way to play it.

from noughts_bots import Bot, run

class Centre(Bot):
    def choose(self, position):
        return 4 if 4 in position.free else position.free[0]

run(Centre(), server="127.0.0.1:7450", token="nou_...", name="centre")
"""

# Before grpc is loaded: see there.
import noughts_proto as noughts_proto

# isort: split
from noughts_bots.api import run, run_async
from noughts_bots.bot import Bot, GameEnd, GameInfo, Move, Resign, TimeLimits
from noughts_bots.session import BotRefused
from noughts_referee.rules import Draws, Position, Result, Termination, Variant, parse_variant

__all__ = [
    "Bot",
    "BotRefused",
    "Draws",
    "GameEnd",
    "GameInfo",
    "Move",
    "Position",
    "Resign",
    "Result",
    "Termination",
    "TimeLimits",
    "Variant",
    "parse_variant",
    "run",
    "run_async",
]
