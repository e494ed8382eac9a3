"""Units of work: a tournament's slots in blocks of consecutive ordinals, numbered from 0."""

_LARGEST_UNIT = 2_048
_FEWEST_UNITS = 32
"""A tournament has at least this many units (if it has as many games), so that several processes could share it."""
# Units of a shared tournament are smaller, because at its end all processes wait for the last units.
_LARGEST_SHARED_UNIT = 128
_FEWEST_SHARED_UNITS = 256


def unit_games(total: int, *, shared: bool = False) -> int:
    """Return the number of slots in a unit of a tournament with `total` games; `shared` if several referees play it."""
    if shared:
        return max(1, min(_LARGEST_SHARED_UNIT, total // _FEWEST_SHARED_UNITS))
    return max(1, min(_LARGEST_UNIT, total // _FEWEST_UNITS))


def unit_count(total: int, games: int) -> int:
    """Return the number of units of `games` slots in a tournament of `total` games."""
    return (total + games - 1) // games


def unit_ordinals(number: int, total: int, games: int) -> range:
    """Return the ordinals of the slots in the unit with this number; empty for an unknown unit."""
    first = number * games + 1
    return range(first, min(first + games, total + 1)) if number >= 0 else range(0)
