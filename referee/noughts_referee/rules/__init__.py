"""The rules of the games: pure, immutable, standard library only.

The referee, the bots and the server use this package and no other rules.
"""

from noughts_referee.rules.boards import Board
from noughts_referee.rules.catalogue import OWN_NAMES, canonical_name, covers, parse_variant
from noughts_referee.rules.chance import Draws, first_choice, first_choices, game_seed, side_seed, side_seeds
from noughts_referee.rules.outcome import Result, Termination, blames, result_against, result_for
from noughts_referee.rules.plugins import plugin_names, plugin_package
from noughts_referee.rules.position import Position, PositionError
from noughts_referee.rules.variants import Variant, VariantError, members

__all__ = [
    "OWN_NAMES",
    "Board",
    "Draws",
    "Position",
    "PositionError",
    "Result",
    "Termination",
    "Variant",
    "VariantError",
    "blames",
    "canonical_name",
    "covers",
    "first_choice",
    "first_choices",
    "game_seed",
    "members",
    "parse_variant",
    "plugin_names",
    "plugin_package",
    "result_against",
    "result_for",
    "side_seed",
    "side_seeds",
]
