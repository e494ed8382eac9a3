"""Rank intervals of a batch fit: the ranks of all players that its covariance allows at once.

A difference of two ratings is sure if it exceeds Tukey's critical value, in standard errors: the 95 % quantile of the
range of as many normal variables as players are ranked, divided by sqrt(2) (C. Kramer, 1956, for unequal errors). With
a probability of 95 %, every sure difference has the right sign. Then all intervals contain the true ranks, ties
included (D. Al Mohamad, J. Goeman and E. van Zwet, "Simultaneous confidence intervals for ranks with application to
ranking institutions", Biometrics 78, 2022). `benchmarks/ranks.py` measures the rate.
"""

import math
from collections.abc import Collection, Mapping

import numpy as np

from noughts_server.statistics.batch_fit import BatchFit, fit
from noughts_server.statistics.elo_scale import NORMAL_95
from noughts_server.statistics.linear_algebra import connected_components, coo_array, ndtr
from noughts_server.statistics.rated_games import Booleans, Integers, RatedGames
from noughts_server.statistics.rating_table import Estimate

RATE = 0.95
"""The least probability that all intervals of a list contain the true ranks."""
# The integral covers this many standard deviations on each side, in this many steps.
_REACH = 9.0
_STEPS = 1_000
_HALVINGS = 50
"""Steps of bisection: enough for the precision of a float."""


def fit_with_ranks(
    games: RatedGames, ranked: Collection[str], known: Mapping[str, float] | None = None
) -> dict[str, Estimate]:
    """Fit ratings with a prior, so that all are on one scale. Return them by player; ranks count only `ranked`.

    The ratings of players in `known` are fixed.
    """
    anchors = {name: rating for name, rating in (known or {}).items() if name in games.players}
    fitted = fit(games, prior=True, anchors=anchors)
    players = games.players
    errors = NORMAL_95 * np.sqrt(fitted.covariance.diagonal())
    lowest, highest = rank_intervals(fitted, np.array([name in ranked for name in players], dtype=bool))
    return {
        name: Estimate(
            view_rating=float(fitted.ratings[place]),
            view_error95=float(errors[place]),
            rank_low=int(lowest[place]),
            rank_high=int(highest[place]),
        )
        for place, name in enumerate(players)
    }


def rank_intervals(fitted: BatchFit, ranked: Booleans) -> tuple[Integers, Integers]:
    """Return the lowest and the highest rank of each player among the `ranked` ones and itself.

    Players that no chain of games connects are never surely different, even if a prior puts them on one scale.
    """
    games = fitted.games
    number = len(fitted.games.players)
    met = coo_array((np.ones(len(games.first)), (games.first, games.second)), shape=(number, number)).tocsr()
    _, islands = connected_components(met, directed=False)
    critical = range_quantile(RATE, max(int(ranked.sum()), 2)) / math.sqrt(2)
    variances = fitted.covariance.diagonal()
    error = np.sqrt(np.maximum(variances[:, None] + variances - 2 * fitted.covariance, 0))
    above = fitted.ratings - fitted.ratings[:, None] > np.maximum(critical * error, 1e-6)
    above &= islands == islands[:, None]
    others = ranked.sum() - ranked
    return 1 + above[:, ranked].sum(axis=1), 1 + others - above.T[:, ranked].sum(axis=1)


def range_quantile(rate: float, number: int) -> float:
    """Return the quantile of the range of `number` independent standard normal variables, 2 or more.

    The range is at most q with probability k * integral of density(z) * (P(z + q) - P(z)) ** (k - 1), in which z is the
    smallest of the k variables and P the normal distribution. SciPy's `studentized_range` has the same values, but it
    takes 40 MiB of memory.
    """
    smallest = np.linspace(-_REACH, _REACH, _STEPS)
    step = smallest[1] - smallest[0]
    weights = number * np.exp(-smallest * smallest / 2) / math.sqrt(2 * math.pi) * step
    below = ndtr(smallest)
    low, high = 0.0, 2 * _REACH
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(weights @ (ndtr(smallest + middle) - below) ** (number - 1)) < rate:
            low = middle
        else:
            high = middle
    return high
