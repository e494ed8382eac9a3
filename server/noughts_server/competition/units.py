"""Units of work: a tournament's slots in blocks of consecutive ordinals, numbered from 0."""

_LARGEST_UNIT = 2_048
# A small tournament also has this many units, so that several processes could share it.
_UNITS_AT_LEAST = 32
# At the end of a shared tournament, each process waits for the last units of the others.
_LARGEST_SHARED = 128
_SHARED_AT_LEAST = 256


def unit_games(total: int, *, shared: bool = False) -> int:
    """Return the slots of a unit for a tournament of `total` games, which several referees play if `shared`."""
    largest, at_least = (_LARGEST_SHARED, _SHARED_AT_LEAST) if shared else (_LARGEST_UNIT, _UNITS_AT_LEAST)
    return max(1, min(largest, total // at_least))


def unit_count(total: int, games: int) -> int:
    """Return the number of units of `games` slots; their numbers count from 0."""
    return -(-total // games)


def unit_ordinals(number: int, total: int, games: int) -> range:
    """Return the ordinals of a unit's slots; empty for an unknown unit."""
    first = number * games + 1
    return range(first, min(first + games, total + 1)) if number >= 0 else range(0)
