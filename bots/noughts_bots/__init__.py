"""The package for authors of bots. A bot is a class with one method, and `run` connects it to a server.

from noughts_bots import Bot, run

class Centre(Bot):
    def choose(self, position):
        return 4 if 4 in position.free else position.free[0]

run(Centre(), server="127.0.0.1:7450", token="nou_...", name="centre")
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

# This import must come before grpc; see `noughts_proto`.
import noughts_proto as noughts_proto

# isort: split
from noughts_bots._former_paths import FormerPaths
from noughts_bots.sdk.bot import Bot, GameEnd, GameInfo, Move, Resign, TimeLimits
from noughts_referee.rules import Draws, OpeningChoice, Position, Put, Result, Take, Termination, Variant, parse_variant

if TYPE_CHECKING:
    from noughts_bots.connection.run import run, run_async
    from noughts_bots.connection.session import BotRefused
    from noughts_bots.sdk.arrays import ArrayBot as ArrayBot
    from noughts_bots.sdk.arrays import Batch as Batch

# ArrayBot and Batch are also public. They are not in this list because `import *` must work without numpy.
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

_IMPORTED_ON_FIRST_USE = {
    "ArrayBot": "noughts_bots.sdk.arrays",
    "Batch": "noughts_bots.sdk.arrays",
    "BotRefused": "noughts_bots.connection.session",
    "run": "noughts_bots.connection.run",
    "run_async": "noughts_bots.connection.run",
}
"""The modules of names that need grpc or numpy. A child of the referee must start at once, and numpy can be missing."""

sys.meta_path.append(FormerPaths())


def __getattr__(name: str) -> Any:
    if name in _IMPORTED_ON_FIRST_USE:
        return getattr(import_module(_IMPORTED_ON_FIRST_USE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
