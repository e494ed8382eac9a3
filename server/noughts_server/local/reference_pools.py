"""The reference pools: reference bots with known ratings, against which `noughts estimate` plays a bot.

In four games they are levels of the bot `level`, which `tools/calibrate_levels.py` measures. In the others,
`tools/calibrate_pools.py` measures the ratings in round robins.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from noughts_bots.reference.levels.table import Level, levels


@dataclass(frozen=True, slots=True)
class ReferencePool:
    variant: str
    games: int
    """The number of games from which the ratings follow."""
    ratings: Mapping[str, float]
    """The ratings of the bots by spec. The weakest one, which plays at random, has 1,000."""


_MOST_OPPONENTS = 10
"""Of a game with more levels, the pool has every second one."""


def _levels_of(variant: str, rows: Mapping[int, Level]) -> ReferencePool:
    """Return the pool of a game that the bot `level` plays."""
    step = 1 if len(rows) <= _MOST_OPPONENTS else 2
    return ReferencePool(
        variant=variant,
        games=sum(level.games for level in rows.values()),
        ratings={f"level:elo={elo}": float(level.rating) for elo, level in list(rows.items())[::step]},
    )


_POOLS = (
    *(_levels_of(variant, rows) for variant, rows in levels().items()),
    ReferencePool(
        variant="mnk:7,7,4",
        games=10_020,
        ratings={
            "random": 1000.0,
            "first-free": 1538.5,
            "nextstep:depth=1": 1327.3,
            "nextstep:depth=2": 1988.3,
            "fives": 2859.3,
            "minimax:depth=2": 1891.2,
        },
    ),
)
REFERENCE_POOLS = {pool.variant: pool for pool in _POOLS}
