"""Confidence intervals of scores."""

from math import sqrt
from typing import NamedTuple

_Z95 = 1.959964


class Interval(NamedTuple):
    """A share of the points and its 95 % confidence interval, all from 0 to 1."""

    share: float
    low: float
    high: float


def score_interval(wins: int, draws: int, losses: int) -> Interval | None:
    """Return the Wilson interval of the share of the points, a draw counted as half a win; None without games.

    Draws reduce the variance, so the interval is never too narrow. It has a width even if all games were won.
    """
    games = wins + draws + losses
    if not games:
        return None
    share = (wins + draws / 2) / games
    z_squared = _Z95 * _Z95
    middle = (share + z_squared / (2 * games)) / (1 + z_squared / games)
    half = _Z95 * sqrt(share * (1 - share) / games + z_squared / (4 * games * games)) / (1 + z_squared / games)
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half))
