"""For authors of bots: a class with one method, and a function that plays it.

from noughts_bots import Bot, run

class Centre(Bot):
    def choose(self, position):
        return 4 if 4 in position.free else position.free[0]

run(Centre(), server="127.0.0.1:7450", token="nou_...", name="centre")
"""

from importlib import import_module
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

# These modules are imported on first use, because a child of the referee must start at once.
_NEED_GRPC = {"run": "api", "run_async": "api", "BotRefused": "session"}


def __getattr__(name: str) -> Any:
    if name in _NEED_GRPC:
        return getattr(import_module(f"{__name__}.{_NEED_GRPC[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
