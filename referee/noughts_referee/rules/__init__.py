"""The rules of the games: pure, immutable, standard library only.

The referee, the bots and the server use this package and no other rules.
"""

from noughts_referee.rules.chance import Draws, first_choice, game_seed, side_seed
from noughts_referee.rules.outcome import Result, Termination, blames, result_against, result_for
from noughts_referee.rules.position import Position, PositionError
from noughts_referee.rules.variants import Variant, VariantError, parse_variant

__all__ = [
    "Draws",
    "Position",
    "PositionError",
    "Result",
    "Termination",
    "Variant",
    "VariantError",
    "blames",
    "first_choice",
    "game_seed",
    "parse_variant",
    "result_against",
    "result_for",
    "side_seed",
]
