"""Ratings from all games at once: maximum likelihood of the logistic model with a first-move advantage.

The expected score of the first mover is 1 / (1 + 10^(-(advantage + R(first) - R(second)) / 400)); a draw is half a
point. Newton's method finds where expected and actual points agree, which is the maximum of the quasi-likelihood of a
logistic regression with fractional response (L. Papke and J. Wooldridge, 1996). The errors are those of the sandwich
estimator (H. White, 1980; "HC0"): their variance comes from the games, so draws make them smaller.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noughts_referee.rules import InvalidInput
from noughts_server.statistics.connection import advantage_bound, groups_of
from noughts_server.statistics.elo_scale import ELO_PER_NAT
from noughts_server.statistics.linear_algebra import Cholesky, LinAlgError, expit
from noughts_server.statistics.rated_games import Booleans, Floats, Integers, RatedGames
from noughts_server.statistics.rating_table import PRIOR_DRAWS, AdvantageBound

MOST_PLAYERS = 5_000
"""Limit of the players in one fit, because its matrices grow with the square of the number, to 200 MB each."""

_MOST_STEPS = 500
"""Steps of Newton's method. A fit that converges needs far fewer."""
# The predicted gain of the last step for each game. The predictions shrink quadratically, so the gain of another step
# would be less than rounding.
_CONVERGED = 1e-16
# A step below this many nats is accepted without a check of its gain.
_SURE = 1e-3
# Added to the variance of each game in the matrix of a step, the least damping first. The first one keeps the matrix
# regular if results are certain. A variance is at most 1/4, so a step with the last one climbs a lower bound of the
# likelihood.
_DAMPING = (1e-10, 1e-4, 1e-3, 1e-2, 1e-1, 0.25)
# The share of the predicted gain that a step must reach.
_LEAST_SHARE = 0.25


class FitError(InvalidInput):
    """Games or options from which nothing can be fitted."""


@dataclass(frozen=True, slots=True)
class BatchFit:
    """The result of a fit, in Elo; players are in the order of `games.players`."""

    games: RatedGames
    groups: Integers
    """The number of each player's group, from 0. Ratings of different groups cannot be compared."""
    ratings: Floats
    """NaN for a player that cannot be compared with any other: alone in its group, without a prior."""
    covariance: Floats
    """Covariance of the ratings; within a group relative to its mean or to the anchors."""
    advantage: float
    """The first-move advantage; 0 unless `bound` is FINITE."""
    advantage_variance: float
    bound: AdvantageBound
    fixed: Booleans
    """Whether each player is anchored."""
    prior: bool

    def comparable(self, one: int, other: int) -> bool:
        """Return whether the ratings of these two players are on one scale."""
        return self.prior or bool(self.groups[one] == self.groups[other])


def fit(
    games: RatedGames, *, anchors: Mapping[str, float] | None = None, prior: bool = False, mean: float = 1500.0
) -> BatchFit:
    """Fit ratings to games. The mean of each group without an anchor is `mean`.

    With `prior`, each player has two virtual draws against the pool's mean, so that all players are in one group and no
    rating is infinite. The errors are then those of the posterior's normal approximation, in which a draw counts as a
    coin toss. Raises FitError for an anchor without games, or too many players.
    """
    if len(games.players) > MOST_PLAYERS:
        raise FitError(f"{len(games.players):,} players", f"at most {MOST_PLAYERS:,}")
    places = {name: place for place, name in enumerate(games.players)}
    fixed = np.zeros(len(places), dtype=bool)
    ratings = np.full(len(places), mean)
    for name, rating in (anchors or {}).items():
        if name not in places:
            raise FitError(f"an anchor {name!r} that has no games", "one of the players")
        fixed[places[name]] = True
        ratings[places[name]] = rating
    groups = groups_of(games, fixed)
    if prior:
        strength, covariance, advantage, advantage_variance = _fit_with_pool(games, fixed, ratings - mean)
        bound = AdvantageBound.FINITE
    else:
        within = games.select(groups[games.first] == groups[games.second])
        bound = advantage_bound(within, fixed)
        problem = _Problem(within, groups, fixed, ratings - mean, moving_first=bound is AdvantageBound.FINITE)
        strength, advantage = problem.solve()
        covariance, advantage_variance = problem.sandwich(strength, advantage)
    ratings = strength * ELO_PER_NAT + mean
    ratings[fixed] = [(anchors or {})[games.players[place]] for place in np.flatnonzero(fixed)]
    if prior and not fixed.any():
        ratings += mean - ratings.mean()
        # Errors are also relative to that mean, because only a few virtual draws determine where the pool lies.
        covariance = covariance - covariance.mean(axis=0) - covariance.mean(axis=1)[:, None] + covariance.mean()
    if not prior:
        alone = (np.bincount(groups, minlength=1)[groups] == 1) & ~fixed
        ratings[alone] = np.nan
    return BatchFit(
        games=games,
        groups=groups,
        ratings=ratings,
        covariance=covariance,
        advantage=advantage * ELO_PER_NAT,
        advantage_variance=advantage_variance,
        bound=bound,
        fixed=fixed,
        prior=prior,
    )


def _fit_with_pool(games: RatedGames, fixed: Booleans, above_mean: Floats) -> tuple[Floats, Floats, float, float]:
    """Return ratings and errors with the pool as an extra player. Each player has its virtual draws against the pool.

    The pool is fixed at the mean, unless other players are fixed; then the draws determine where it lies.
    """
    number = len(games.players)
    players = np.arange(number)
    pool = np.full(number, number)
    with_pool = RatedGames(
        players=(*games.players, ""),
        first=np.concatenate((games.first, players, pool)),
        second=np.concatenate((games.second, pool, players)),
        wins=np.concatenate((games.wins, np.zeros(2 * number))),
        draws=np.concatenate((games.draws, np.full(2 * number, PRIOR_DRAWS / 2))),
        losses=np.concatenate((games.losses, np.zeros(2 * number))),
    )
    one_group = np.zeros(number + 1, dtype=np.int64)
    is_fixed = np.append(fixed, not fixed.any())
    problem = _Problem(with_pool, one_group, is_fixed, np.append(above_mean, 0.0), moving_first=number > 0)
    strength, advantage = problem.solve()
    covariance, advantage_variance = problem.inverse_information(strength, advantage)
    return strength[:-1], covariance[:-1, :-1], advantage, advantage_variance


class _Problem:
    """The likelihood of a set of games, with ratings in nats above the mean."""

    def __init__(
        self, games: RatedGames, pools: Integers, fixed: Booleans, above_mean: Floats, *, moving_first: bool
    ) -> None:
        """Prepare the problem. `above_mean` are ratings of `fixed` players in Elo; other pools have mean 0."""
        self._games = games
        self._number = len(games.players)
        # Players that can be compared with anchors start at their mean.
        among = np.isin(pools, pools[fixed]) * (above_mean[fixed].mean() if fixed.any() else 0.0)
        self._start = np.where(fixed, above_mean, among) / ELO_PER_NAT
        self._moving_first = moving_first
        self._points = games.wins + games.draws / 2
        self._played = games.games
        # The parameters: players that are not fixed, and last the advantage.
        self._free = np.flatnonzero(~fixed)
        self._parameters = np.append(self._free, self._number) if moving_first else self._free
        self._pools = pools
        self._floating = np.setdiff1d(pools, pools[fixed])

    def solve(self) -> tuple[Floats, float]:
        """Return ratings and advantage at the maximum.

        Each step is the least damped Newton step that gains a quarter of what the gradient g predicts. The most
        damped one always does (D. Böhning and B. Lindsay, 1988). With its matrix B, a step gains at least |g|^2 / 8|B|.
        The likelihood is bounded, so g tends to 0, from any start and for any anchors.
        """
        strength = self._start.copy()
        advantage = 0.0
        if not len(self._parameters):
            return strength, advantage
        height = self._height(strength, advantage)
        for _ in range(_MOST_STEPS):
            for least_damping in range(len(_DAMPING)):
                gradient, factor = self._factored(strength, advantage, least_damping)
                step = factor.solve(gradient)
                predicted_gain = float(gradient @ step)
                next_strength = strength.copy()
                next_strength[self._free] += step[: len(self._free)]
                next_advantage = advantage + (float(step[-1]) if self._moving_first else 0.0)
                next_height = self._height(next_strength, next_advantage)
                # This close to the maximum, a step gains less than the rounding of the height.
                if np.max(np.abs(step)) < _SURE or next_height - height >= _LEAST_SHARE * predicted_gain:
                    break
            strength, advantage, height = next_strength, next_advantage, next_height
            if predicted_gain <= _CONVERGED * self._played.sum():
                break
        return strength, advantage

    def sandwich(self, strength: Floats, advantage: float) -> tuple[Floats, float]:
        """Return the covariance of all ratings in Elo squared, 0 for fixed ones, and the advantage's variance (HC0)."""
        if not len(self._parameters):
            return self._whole(np.zeros((0, 0)))
        _, factor = self._factored(strength, advantage)
        half = factor.solve(self._scatter(strength, advantage))
        return self._whole(factor.solve(half.T))

    def inverse_information(self, strength: Floats, advantage: float) -> tuple[Floats, float]:
        """Return the same for a true likelihood: the normal approximation of a posterior."""
        if not len(self._parameters):
            return self._whole(np.zeros((0, 0)))
        _, factor = self._factored(strength, advantage)
        return self._whole(factor.solve(np.eye(len(self._parameters))))

    def _whole(self, parameter_covariance: Floats) -> tuple[Floats, float]:
        """Return the covariance of all players, and the advantage's variance, from that of the parameters in nats."""
        scaled = (parameter_covariance + parameter_covariance.T) / 2 * ELO_PER_NAT**2
        free = len(self._free)
        whole = np.zeros((self._number, self._number))
        whole[np.ix_(self._free, self._free)] = scaled[:free, :free]
        return whole, float(scaled[-1, -1]) if self._moving_first else 0.0

    def _expected(self, strength: Floats, advantage: float) -> Floats:
        expected: Floats = expit(strength[self._games.first] - strength[self._games.second] + advantage)
        return expected

    def _height(self, strength: Floats, advantage: float) -> float:
        """Return the logarithm of the likelihood."""
        lead = strength[self._games.first] - strength[self._games.second] + advantage
        return float(np.sum(self._points * lead - self._played * np.logaddexp(0.0, lead)))

    def _factored(self, strength: Floats, advantage: float, least_damping: int = 0) -> tuple[Floats, Cholesky]:
        """Return the gradient and the factor of the negative Hessian, with the least damping that makes it definite."""
        for damping in _DAMPING[least_damping:]:
            gradient, information = self._slope(strength, advantage, damping)
            try:
                return gradient, Cholesky(information)
            except LinAlgError:  # lost in rounding: the numbers of games differ by more than a float's digits
                continue
        raise AssertionError("a matrix with the variance of a coin toss for each game is definite")

    def _slope(self, strength: Floats, advantage: float, damping: float) -> tuple[Floats, Floats]:
        """Return the gradient and the damped negative Hessian of the parameters."""
        expected = self._expected(strength, advantage)
        surplus = self._points - self._played * expected
        weight = self._played * (expected * (1 - expected) + damping)
        gradient = np.append(self._by_player(surplus, -surplus), surplus.sum())
        information = self._spread(weight)
        # Fix the mean of a floating pool, which changes neither the maximum nor the errors of differences.
        for pool in self._floating:
            members = np.flatnonzero(self._pools == pool)
            information[np.ix_(members, members)] += max(float(weight.sum()) / self._number, 1.0) / len(members)
        return gradient[self._parameters], information[np.ix_(self._parameters, self._parameters)]

    def _scatter(self, strength: Floats, advantage: float) -> Floats:
        """Return the sum over games of the outer products of their scores: the variance around the expected results."""
        games = self._games
        expected = self._expected(strength, advantage)
        squares = games.wins * (1 - expected) ** 2 + games.draws * (0.5 - expected) ** 2 + games.losses * expected**2
        scatter: Floats = self._spread(squares)[np.ix_(self._parameters, self._parameters)]
        return scatter

    def _spread(self, weight: Floats) -> Floats:
        """Return the sum of weight * x x^T over rows: x is 1, -1 and 1 for first mover, second mover and advantage."""
        number, games = self._number, self._games
        matrix = np.zeros((number + 1, number + 1))
        pair_weights = np.zeros((number, number))
        pair_weights[games.first, games.second] = weight  # each pair has one row
        matrix[:-1, :-1] = -(pair_weights + pair_weights.T)
        diagonal = np.arange(number)
        matrix[diagonal, diagonal] += self._by_player(weight, weight)
        matrix[:-1, -1] = matrix[-1, :-1] = self._by_player(weight, -weight)
        matrix[-1, -1] = weight.sum()
        return matrix

    def _by_player(self, of_first: Floats, of_second: Floats) -> Floats:
        games, number = self._games, self._number
        sums = np.bincount(games.first, of_first, number) + np.bincount(games.second, of_second, number)
        return sums.astype(np.float64)
