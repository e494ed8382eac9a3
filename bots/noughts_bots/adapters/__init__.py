"""Adapters: agents of PettingZoo, OpenSpiel and Kaggle ConnectX and plain functions as bots; Gymnasium environments."""

import importlib
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noughts_bots.adapters.functions import BoardFunction as BoardFunction
    from noughts_bots.adapters.gymnasium import NoughtsEnv as NoughtsEnv
    from noughts_bots.adapters.gymnasium import NoughtsVectorEnv as NoughtsVectorEnv
    from noughts_bots.adapters.kaggle import Submission as Submission
    from noughts_bots.adapters.openspiel import Mcts as Mcts
    from noughts_bots.adapters.openspiel import OpenSpielBot as OpenSpielBot
    from noughts_bots.adapters.pettingzoo import PettingZooBot as PettingZooBot

_MODULES = {
    "BoardFunction": "functions",
    "Mcts": "openspiel",
    "NoughtsEnv": "gymnasium",
    "NoughtsVectorEnv": "gymnasium",
    "OpenSpielBot": "openspiel",
    "PettingZooBot": "pettingzoo",
    "Submission": "kaggle",
}


def __getattr__(name: str) -> Any:
    # Each adapter needs its own packages, so only the requested one is imported.
    if name == "ArrayBot":
        warnings.warn("adapters.ArrayBot is called BoardFunction now", DeprecationWarning, stacklevel=2)
        name = "BoardFunction"
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
