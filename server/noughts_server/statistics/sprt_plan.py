"""Predict how many games an SPRT takes.

The LLR is modelled as a Brownian motion between the two limits, with the drift and the variance that a pair of games
adds at the true strengths. A result of a pair adds the derivative of the LLR by the probability of this result, which
is exact for large samples. The probability to leave at the upper limit and the mean time are Wald's. The distribution
of the time is that of the motion between two absorbing walls, by the method of images (D. R. Cox and H. D. Miller, "The
Theory of Stochastic Processes", 1965, 5.7), which stays exact for a strong drift. The model ignores that the LLR jumps
past a limit, so a real test takes slightly longer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from noughts_server.statistics.elo_scale import NORMALIZED_PER_DEVIATION, score_of_elo
from noughts_server.statistics.sprt import LARGEST_ELO, Sprt, SprtError, SprtModel, check_elo

_IMAGES = 8
"""Terms of the series on each side. Further ones are smaller than the precision of a float."""


@dataclass(frozen=True, slots=True)
class TrueStrength:
    """The assumed truth about two players."""

    elo: float
    """The superiority of A, on the scale of the test."""
    draw_rate: float = 0.2
    advantage: float = 0.0
    """The first-move advantage, in Elo."""

    def __post_init__(self) -> None:
        check_elo("elo", self.elo)
        check_elo("advantage", self.advantage)
        if not 0 <= self.draw_rate < 1:
            raise SprtError(f"a draw rate of {self.draw_rate:g}", "at least 0 and less than 1")

    def pair_shares(self, model: SprtModel) -> list[float]:
        """Return the probabilities of a pair's five results. Raises SprtError if the draws are too many for the scores.

        The test measures `elo` by the scores of pairs. A first-move advantage makes these differ less than the ratings
        do, so the rating difference that leads to `elo` is larger.
        """
        if model is SprtModel.LOGISTIC:
            return self._shares(self._difference(_mean, score_of_elo(self.elo)))
        # Normalized Elo counts deviations of a game. The mean of a pair's two games deviates less, by the root of 2.
        return self._shares(self._difference(_deviations, self.elo / NORMALIZED_PER_DEVIATION * math.sqrt(2)))

    def _shares(self, elo: float) -> list[float]:
        """Return the probabilities of a pair's results at this rating difference."""
        one = self._game(score_of_elo(elo + self.advantage))
        other = self._game(score_of_elo(elo - self.advantage))
        shares = [0.0] * 5
        for first_points, first_chance in enumerate(one):
            for second_points, second_chance in enumerate(other):
                shares[first_points + second_points] += first_chance * second_chance
        return shares

    def _game(self, score: float) -> tuple[float, float, float]:
        """Return the probabilities of a loss, a draw and a win in a game with this expected score."""
        win = score - self.draw_rate / 2
        loss = 1 - score - self.draw_rate / 2
        # At the limit of what the draw rate allows, rounding can make them negative.
        return max(loss, 0.0), self.draw_rate, max(win, 0.0)

    def _difference(self, measure: Callable[[list[float]], float], target: float) -> float:
        """Return the rating difference at which a pair's results have this measure, which increases with it."""
        from scipy.optimize import bisect

        # Beyond this difference, the draw rate is impossible.
        reach = 400.0 * math.log10((2 - self.draw_rate) / self.draw_rate) if self.draw_rate else 10 * LARGEST_ELO
        reach = reach - abs(self.advantage)
        if reach <= 0:
            raise SprtError(
                f"a draw rate of {self.draw_rate:g} and a first-move advantage of {self.advantage:g} Elo", "fewer draws"
            )

        def surplus(elo: float) -> float:
            return measure(self._shares(elo)) - target

        if not surplus(-reach) <= 0 <= surplus(reach):
            raise SprtError(f"an Elo of {self.elo:g}", f"one that is possible with a draw rate of {self.draw_rate:g}")
        return float(bisect(surplus, -reach, reach))


class SprtPlan(NamedTuple):
    """The prediction of a test."""

    pass_probability: float
    """The probability to accept H1."""
    expected_games: float
    """The mean number of games, two for each pair."""
    games95: float
    """The number of games that 95 % of all tests do not exceed."""


def plan(test: Sprt, truth: TrueStrength) -> SprtPlan:
    """Predict the test on pairs of games if `truth` holds. Raises SprtError if `truth` is impossible."""
    shares = [max(share, 1e-12) for share in truth.pair_shares(test.model)]
    total = math.fsum(shares)
    shares = [share / total for share in shares]
    steps = test.steps(shares)
    drift = math.fsum(share * step for share, step in zip(shares, steps, strict=True))
    variance = math.fsum(share * (step - drift) ** 2 for share, step in zip(shares, steps, strict=True))
    return _between_walls(drift, variance, -test.lower, test.upper)


def _between_walls(drift: float, variance: float, below: float, above: float) -> SprtPlan:
    """Return the plan of a motion that starts between two walls and accepts H1 at `above`; a step is two games."""
    from scipy.optimize import bisect

    if variance < 1e-15:
        # Without variance, the motion goes straight to one of the walls, or stays where it is.
        pairs = math.inf
        if drift:
            distance = above if drift > 0 else below
            pairs = max(distance / abs(drift), 1.0)
        return SprtPlan(pass_probability=1.0 if drift > 0 else 0.0, expected_games=2 * pairs, games95=2 * pairs)
    lean = 2 * drift / variance
    if abs(lean) * (below + above) < 1e-9:
        chance = below / (below + above)
        mean = below * above / variance
    else:
        # Two forms of one formula, because each overflows on the other side.
        if lean > 0:
            chance = math.expm1(-lean * below) / math.expm1(-lean * (below + above))
        else:
            chance = math.exp(lean * above) * math.expm1(lean * below) / math.expm1(lean * (below + above))
        mean = (chance * above - (1 - chance) * below) / drift

    def surplus(time: float) -> float:
        return _undecided(time, drift, variance, below, above) - 0.05

    high = mean
    while surplus(high) > 0:
        high *= 2
    # A test ends after a pair, at the earliest after the first.
    return SprtPlan(
        pass_probability=chance,
        expected_games=2 * max(mean, 1.0),
        games95=2 * max(bisect(surplus, 1e-9 * high, high), 1.0),
    )


def _undecided(time: float, drift: float, variance: float, below: float, above: float) -> float:
    """Return the probability that the motion has reached neither wall by `time`."""
    from scipy.special import log_ndtr

    if drift < 0:
        # Seen from the other side, an image with a large factor has a small probability, so that nothing overflows.
        return _undecided(time, -drift, variance, above, below)
    lean_of_image = drift / variance
    deviation = math.sqrt(variance * time)

    def between(source: float) -> float:
        upper, lower = (
            lean_of_image * source + log_ndtr((wall - source - drift * time) / deviation) for wall in (above, -below)
        )
        return math.exp(upper) - math.exp(lower)

    periods = [2 * (below + above) * image for image in range(-_IMAGES, _IMAGES + 1)]
    return math.fsum(between(period) - between(2 * above - period) for period in periods)


def _mean(shares: list[float]) -> float:
    """Return the mean score of a game."""
    return sum(share * place / 4 for place, share in enumerate(shares))


def _deviations(shares: list[float]) -> float:
    """Return the mean score of a pair above 1/2, in its standard deviations."""
    mean = _mean(shares)
    variance = sum(share * (place / 4 - mean) ** 2 for place, share in enumerate(shares))
    return (mean - 0.5) / math.sqrt(variance) if variance else math.copysign(math.inf, mean - 0.5)
