"""The rules of the games: pure, immutable, standard library only. The project has no other rules."""

from noughts_referee.rules.agreement import Choice, OpeningChoice, Put, Take
from noughts_referee.rules.boards import Board
from noughts_referee.rules.cells import cell_name, cell_names, column_name, placed_wrongly
from noughts_referee.rules.chance import (
    Draws,
    OldSeed,
    apart,
    bits_at,
    commitment,
    first_choice,
    first_choices,
    game_seed,
    side_seed,
    side_seeds,
)
from noughts_referee.rules.invalid import InvalidInput
from noughts_referee.rules.last_move import LastMove, MovesError, last_move
from noughts_referee.rules.openings import OPENING_RULES
from noughts_referee.rules.outcome import (
    DRAWN,
    FAULTS,
    FORFEITS,
    GONE,
    ON_THE_BOARD,
    VOID,
    Outcome,
    Result,
    Termination,
    in_words,
    lost,
    won,
)
from noughts_referee.rules.position import Position, PositionError, free_of_each
from noughts_referee.rules.variant import Variant, VariantError, members
from noughts_referee.rules.variant_plugins import plugin_names, plugin_package
from noughts_referee.rules.variants import OWN_NAMES, base_name, canonical_name, covers, is_family, parse_variant

__all__ = [
    "DRAWN",
    "FAULTS",
    "FORFEITS",
    "GONE",
    "ON_THE_BOARD",
    "OPENING_RULES",
    "OWN_NAMES",
    "VOID",
    "Board",
    "Choice",
    "Draws",
    "InvalidInput",
    "LastMove",
    "MovesError",
    "OldSeed",
    "OpeningChoice",
    "Outcome",
    "Position",
    "PositionError",
    "Put",
    "Result",
    "Take",
    "Termination",
    "Variant",
    "VariantError",
    "apart",
    "base_name",
    "bits_at",
    "canonical_name",
    "cell_name",
    "cell_names",
    "column_name",
    "commitment",
    "covers",
    "first_choice",
    "first_choices",
    "free_of_each",
    "game_seed",
    "in_words",
    "is_family",
    "last_move",
    "lost",
    "members",
    "parse_variant",
    "placed_wrongly",
    "plugin_names",
    "plugin_package",
    "side_seed",
    "side_seeds",
    "won",
]
