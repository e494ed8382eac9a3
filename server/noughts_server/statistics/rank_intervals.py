"""Rank intervals of a batch fit: the ranks of all players that its covariance allows at once.

A difference of two ratings is sure if it exceeds Tukey's critical value, in standard errors: the 95 % quantile of the
range of as many normal variables as players are ranked, divided by sqrt(2) (C. Kramer, 1956, for unequal errors). With
a probability of 95 %, every sure difference has the right sign. Then all intervals contain the true ranks, ties
included (D. Al Mohamad, J. Goeman and E. van Zwet, "Simultaneous confidence intervals for ranks with application to
ranking institutions", Biometrics 78, 2022). `benchmarks/ranks.py` measures the rate.
"""

import math
from collections.abc import Collection

import numpy as np

from noughts_server.statistics.batch_fit import BatchFit, fit
from noughts_server.statistics.elo_scale import NORMAL_95
from noughts_server.statistics.linear_algebra import connected_components, coo_array
from noughts_server.statistics.rated_games import Booleans, Integers, RatedGames
from noughts_server.statistics.rating_table import Estimate

RATE = 0.95
"""The least probability that all intervals of a list contain the true ranks."""


def fit_with_ranks(games: RatedGames, ranked: Collection[str]) -> dict[str, Estimate]:
    """Fit ratings with a prior, so that all are on one scale, and return them by player; ranks count `ranked` ones."""
    fitted, players = fit(games, prior=True), games.players
    errors = NORMAL_95 * np.sqrt(fitted.covariance.diagonal())
    ranks = rank_intervals(fitted, np.array([name in ranked for name in players], dtype=bool))
    columns = (column.tolist() for column in (fitted.ratings, errors, *ranks))
    return dict(zip(players, map(Estimate, *columns), strict=True))


def rank_intervals(fitted: BatchFit, ranked: Booleans) -> tuple[Integers, Integers]:
    """Return the lowest and the highest rank of each player among the `ranked` ones and itself.

    Players that no chain of games connects are never surely different, even if a prior puts them on one scale.
    """
    # SciPy's statistics take a third of a second to load.
    from scipy.stats import studentized_range

    games, number = fitted.games, len(fitted.games.players)
    met = coo_array((np.ones(len(games.first)), (games.first, games.second)), shape=(number, number)).tocsr()
    _, islands = connected_components(met, directed=False)
    critical = studentized_range.ppf(RATE, max(int(ranked.sum()), 2), math.inf) / math.sqrt(2)
    variances = fitted.covariance.diagonal()
    error = np.sqrt(np.maximum(variances[:, None] + variances - 2 * fitted.covariance, 0))
    above = fitted.ratings - fitted.ratings[:, None] > np.maximum(critical * error, 1e-6)
    above &= islands == islands[:, None]
    others = ranked.sum() - ranked
    return 1 + above[:, ranked].sum(axis=1), 1 + others - above.T[:, ranked].sum(axis=1)
