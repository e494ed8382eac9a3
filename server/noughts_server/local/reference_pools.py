"""The reference pools: reference bots with known ratings, against which `noughts estimate` plays a bot.

`tools/calibrate_pools.py` measures the ratings in round robins.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReferencePool:
    variant: str
    games: int
    """The number of games from which the ratings follow."""
    ratings: Mapping[str, float]
    """The ratings of the bots by spec. `random` has 1,000."""


_POOLS = (
    ReferencePool(
        variant="tictactoe",
        games=10_038,
        ratings={
            "random": 1000.0,
            "first-free": 1040.0,
            "coursework": 1454.8,
            "three-stage": 1353.8,
            "pascal": 1576.4,
            "nextstep:depth=2": 1393.6,
            "minimax": 1569.3,
        },
    ),
    ReferencePool(
        variant="connect4",
        games=10_020,
        ratings={
            "random": 1000.0,
            "first-free": 1152.1,
            "nextstep:depth=1": 1172.0,
            "nextstep:depth=2": 1602.2,
            "minimax:depth=2": 1609.1,
            "minimax:depth=4": 1672.7,
        },
    ),
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
