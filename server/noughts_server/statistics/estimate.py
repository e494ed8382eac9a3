"""Estimate the difference in strength of two players from a match, with its uncertainty.

The unit of a match is the pair: two games from one opening with the sides swapped. The advantages of the opening and
the first move cancel within a pair, so the errors of pairs are smaller than those of as many independent games, and
correct. Games outside complete pairs are separate units.
"""

import math
from typing import NamedTuple

from noughts_server.statistics.elo_scale import NORMAL_95, NORMALIZED_PER_DEVIATION, elo_of_score, normal_cdf


class Pentanomial(NamedTuple):
    """Pairs of games by the first player's points from both: 0, 1/2, 1, 1 1/2 or 2."""

    ll: int = 0
    ld: int = 0
    level: int = 0
    """A win and a loss, or two draws."""
    wd: int = 0
    ww: int = 0

    @property
    def pairs(self) -> int:
        return sum(self)


class WinsDrawsLosses(NamedTuple):
    """Single games, from the first player's point of view."""

    wins: int = 0
    draws: int = 0
    losses: int = 0


_NO_PAIRS, _NO_GAMES = Pentanomial(), WinsDrawsLosses()


class Estimate(NamedTuple):
    """The estimated difference in strength. None if infinite or unknown."""

    score: float | None
    """The first player's mean score, 0 to 1; None without games."""
    value: float | None
    """Elo by which the first player is stronger."""
    error95: float | None
    """Half the width of the 95 % confidence interval, in Elo; 0 if all results are equal, so that it is unknown."""
    los: float | None
    """The likelihood that the first player is stronger, 0 to 1."""
    normalized: float | None
    """Normalized Elo: the mean score above 1/2 in standard deviations of a game's score, times 347.4."""
    normalized_error95: float | None
    """Half the width of its 95 % confidence interval."""
    units: int
    """Independent results: pairs, and games without a partner."""
    at_least: float | None = None
    """If one player has won everything: its minimal superiority in Elo (95 %, one-sided), if that is above 0."""


def estimate(pairs: Pentanomial = _NO_PAIRS, games: WinsDrawsLosses = _NO_GAMES) -> Estimate:
    """Return the difference in Elo by the logistic model from pairs, and from games without a partner.

    The score's standard error is that of a mean over independent units. Its 95 % limits are mapped to Elo, and half
    their distance is the error. Limits at or beyond 0 or 1 would be infinite, so there is no error then. The likelihood
    of superiority is Phi((score - 1/2) / standard error), so the effects of draws and pairs on the error count. If all
    units have the same score, that error is 0 for lack of data. Then the likelihood is Phi(sqrt(units)), the sign
    test's normal approximation, or None if that score is 1/2.
    """
    # The mean score of a unit, its number of games, the number of such units.
    units = [(quarters / 4, 2, count) for quarters, count in enumerate(pairs)]
    units += [(1.0, 1, games.wins), (0.5, 1, games.draws), (0.0, 1, games.losses)]
    number = sum(count for _, _, count in units)
    played = sum(size * count for _, size, count in units)
    if not number:
        return Estimate(
            score=None, value=None, error95=None, los=None, normalized=None, normalized_error95=None, units=0
        )
    score = sum(mean * size * count for mean, size, count in units) / played
    # The order of summation is fixed, because swapping the players must mirror the result.
    squares = math.fsum(count * (size * (mean - score)) ** 2 for mean, size, count in units)
    error = math.sqrt(squares) / played
    if len({mean for mean, _, count in units if count}) == 1:
        return _all_alike(score, number)
    low, high = elo_of_score(score - NORMAL_95 * error), elo_of_score(score + NORMAL_95 * error)
    deviation = error * math.sqrt(played)
    return Estimate(
        score=score,
        value=elo_of_score(score),
        error95=None if low is None or high is None else (high - low) / 2,
        los=normal_cdf((score - 0.5) / error),
        normalized=(score - 0.5) / deviation * NORMALIZED_PER_DEVIATION,
        normalized_error95=NORMAL_95 * error / deviation * NORMALIZED_PER_DEVIATION,
        units=number,
    )


def _all_alike(score: float, units: int) -> Estimate:
    """Return the estimate of units that all have this score."""
    sign = 0
    if score != 0.5:
        sign = 1 if score > 0.5 else -1
    at_least = None
    if score in (0.0, 1.0):
        # The probability to win a unit at which winning all has a probability of 5 % (Clopper and Pearson, 1934).
        bound = elo_of_score(0.05 ** (1 / units))
        at_least = bound if bound is not None and bound > 0 else None
    return Estimate(
        score=score,
        value=elo_of_score(score),
        error95=0.0 if 0 < score < 1 else None,
        los=normal_cdf(sign * math.sqrt(units)) if sign else None,
        normalized=0.0 if not sign else None,
        normalized_error95=None,
        units=units,
        at_least=at_least,
    )
