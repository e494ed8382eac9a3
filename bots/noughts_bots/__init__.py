"""For authors of bots: a class with one method, and a function that plays it.

from noughts_bots import Bot, run

class Centre(Bot):
    def choose(self, position):
        return 4 if 4 in position.free else position.free[0]

run(Centre(), server="127.0.0.1:7450", token="nou_...", name="centre")
"""

from typing import TYPE_CHECKING, Any

# Must be imported before grpc; see that module.
import noughts_proto as noughts_proto

# isort: split
from noughts_bots.bot import Bot, GameEnd, GameInfo, Move, Resign, TimeLimits
from noughts_referee.rules import Draws, OpeningChoice, Position, Put, Result, Take, Termination, Variant, parse_variant

if TYPE_CHECKING:
    from noughts_bots.api import run, run_async
    from noughts_bots.session import BotRefused

__all__ = [
    "Bot",
    "BotRefused",
    "Draws",
    "GameEnd",
    "GameInfo",
    "Move",
    "OpeningChoice",
    "Position",
    "Put",
    "Resign",
    "Result",
    "Take",
    "Termination",
    "TimeLimits",
    "Variant",
    "parse_variant",
    "run",
    "run_async",
]


def __getattr__(name: str) -> Any:
    # These need grpc, so they are imported on first use: a child of the referee must start at once.
    if name in ("run", "run_async"):
        from noughts_bots import api

        return getattr(api, name)
    if name == "BotRefused":
        from noughts_bots.session import BotRefused

        return BotRefused
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
