"""Simultaneous perturbation stochastic approximation (SPSA): tune numbers of a bot by games against itself.

In iteration k, two sets of values play each other: every parameter is moved up or down by its perturbation c(k), at
random, in one set, and the other way in the other set. The result moves all parameters towards the better set:

    c(k) = step * (N / k) ** GAMMA
    a(k) = rate * step ** 2 * ((A + N) / (A + k)) ** ALPHA,  A = N / 10
    value += a(k) / c(k) * (wins - losses) * direction

N is the number of iterations. In the last iteration, the perturbation is `step` and the gain a / c ** 2 is `rate`.
These are the schedules of fishtest (server/fishtest/spsa_handler.py) and OpenBench (OpenBench/spsa_utils.py), with the
exponents of J. C. Spall, "Implementation of the simultaneous perturbation algorithm", IEEE Transactions on Aerospace
and Electronic Systems 34 (1998).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from noughts_server.statistics.linear_algebra import stdtrit

ALPHA = 0.602
GAMMA = 0.101
_STABILITY_SHARE = 0.1
"""A as a share of the number of iterations."""
_LEAST_WHOLE_PERTURBATION = 0.5
"""With less, both sets would often have the same whole number."""
_FEWEST_ITERATIONS = 20
"""With fewer, there are too few results for an estimate of the optimum."""
_HASH_RANGE = 2**64


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number to tune."""

    name: str
    start: float
    low: float
    """The least value that the bot gets."""
    high: float
    """The greatest value that the bot gets."""
    step: float
    """The perturbation in the last iteration."""
    rate: float
    """The gain in the last iteration."""
    whole: bool
    """Whether the bot gets whole numbers only."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What to tune, and for how long."""

    parameters: tuple[Parameter, ...]
    iterations: int
    seed: int

    def perturbation(self, parameter: Parameter, iteration: int) -> float:
        """Return c(k) for iteration k, counted from 1."""
        perturbation = parameter.step * math.pow(self.iterations / iteration, GAMMA)
        return max(perturbation, _LEAST_WHOLE_PERTURBATION) if parameter.whole else perturbation

    def gain(self, parameter: Parameter, iteration: int) -> float:
        """Return a(k) / c(k) for iteration k, counted from 1."""
        stability = _STABILITY_SHARE * self.iterations
        decrease = math.pow((stability + self.iterations) / (stability + iteration), ALPHA)
        return parameter.rate * parameter.step**2 * decrease / self.perturbation(parameter, iteration)

    def pair_of_sets(self, iteration: int, values: Sequence[float]) -> "PairOfSets":
        """Return the two sets of values that play each other in this iteration, at the parameters' present values."""
        directions, plus, minus = [], {}, {}
        for parameter, value in zip(self.parameters, values, strict=True):
            direction = 1 if self._random(iteration, "direction", parameter) < 0.5 else -1
            directions.append(direction)
            change = direction * self.perturbation(parameter, iteration)
            # Both sets round at the same random threshold, so that on average the bots get the exact values.
            threshold = self._random(iteration, "rounding", parameter)
            plus[parameter.name] = _as_played(parameter, value + change, threshold)
            minus[parameter.name] = _as_played(parameter, value - change, threshold)
        return PairOfSets(directions=tuple(directions), plus=plus, minus=minus)

    def seed_of_games(self, iteration: int) -> int:
        """Return the seed of the games of this iteration."""
        return int(self._random(iteration, "games") * 2**53)

    def _random(self, iteration: int, purpose: str, parameter: Parameter | None = None) -> float:
        """Return a number from 0 to below 1 that follows from the seed and the arguments."""
        text = f"{self.seed} {iteration} {purpose} {parameter.name if parameter else ''}"
        return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") / _HASH_RANGE


class PairOfSets(NamedTuple):
    """The two sets of values that play each other in an iteration."""

    directions: tuple[int, ...]
    """For each parameter: 1 if `plus` has the greater value, else -1."""
    plus: dict[str, float]
    minus: dict[str, float]


class PlayedIteration(NamedTuple):
    """The result of an iteration, for the set `plus`."""

    wins: int
    draws: int
    losses: int


class Course:
    """The values of the parameters over the iterations played so far."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self.values: list[tuple[float, ...]] = [tuple(parameter.start for parameter in tuning.parameters)]
        """The values before the first iteration, and after each."""
        self._directions: list[tuple[int, ...]] = []
        self._scores: list[float] = []
        """The mean of wins - losses per game, by iteration."""

    @property
    def last_values(self) -> dict[str, float]:
        """Return the values after the iterations so far, by the names of the parameters."""
        return {parameter.name: value for parameter, value in zip(self.tuning.parameters, self.values[-1], strict=True)}

    @property
    def iteration(self) -> int:
        """The number of the next iteration, from 1."""
        return len(self.values)

    @property
    def finished(self) -> bool:
        return self.iteration > self.tuning.iterations

    def next_pair(self) -> PairOfSets:
        """Return the two sets of values of the next iteration."""
        return self.tuning.pair_of_sets(self.iteration, self.values[-1])

    def add(self, result: PlayedIteration) -> None:
        """Move the values by the result of the next iteration."""
        iteration, directions = self.iteration, self.next_pair().directions
        difference = result.wins - result.losses
        self.values.append(
            tuple(
                min(
                    max(value + self.tuning.gain(parameter, iteration) * difference * direction, parameter.low),
                    parameter.high,
                )
                for parameter, value, direction in zip(self.tuning.parameters, self.values[-1], directions, strict=True)
            )
        )
        self._directions.append(directions)
        self._scores.append(difference / max(sum(result), 1))

    def optima(self) -> "list[Optimum | None]":
        """Estimate each parameter's optimum from all games; None if they do not show one.

        If strength falls with the square of the distance from the optimum, the expected score of an iteration is linear
        in the perturbations and in their products with the values at the time:

            score = sum over the parameters of direction * c(k) * (g - h * value)

        A least-squares fit of g and h gives the optimum g / h. Its 95 % interval has all values at which the slope
        g - h * value is not different from 0 (E. C. Fieller, "Some problems in interval estimation", Journal of the
        Royal Statistical Society B 16, 1954). If h is not above 0 with the same confidence, there is no optimum: the
        values did not move far enough, or strength has no peak there.
        """
        count, played = len(self.tuning.parameters), len(self._scores)
        if played < max(_FEWEST_ITERATIONS, 4 * count):
            return [None] * count
        perturbations = np.array(
            [
                [
                    direction * self.tuning.perturbation(parameter, iteration)
                    for parameter, direction in zip(self.tuning.parameters, directions, strict=True)
                ]
                for iteration, directions in enumerate(self._directions, start=1)
            ]
        )
        values = np.array(self.values[:-1])
        means = values.mean(axis=0)
        # Values relative to their mean keep the two columns of a parameter apart.
        design = np.hstack([perturbations, -perturbations * (values - means)])
        scores = np.array(self._scores)
        gram = design.T @ design
        if np.linalg.matrix_rank(gram) < 2 * count:
            return [None] * count
        inverse = np.linalg.inv(gram)
        fitted = inverse @ design.T @ scores
        freedom = played - 2 * count
        residuals = scores - design @ fitted
        covariance = inverse * float(residuals @ residuals) / freedom
        quantile = float(stdtrit(freedom, 0.975))
        return [
            _fieller(
                slope=float(fitted[index]),
                curvature=float(fitted[count + index]),
                slope_variance=float(covariance[index, index]),
                curvature_variance=float(covariance[count + index, count + index]),
                joint_covariance=float(covariance[index, count + index]),
                quantile=quantile,
                origin=float(means[index]),
            )
            for index in range(count)
        ]


class Optimum(NamedTuple):
    """An estimate of the value at which a bot is strongest, with the other parameters near their optima."""

    value: float
    low: float
    """The lower limit of the 95 % confidence interval."""
    high: float
    """The upper limit."""


def _fieller(
    *,
    slope: float,
    curvature: float,
    slope_variance: float,
    curvature_variance: float,
    joint_covariance: float,
    quantile: float,
    origin: float,
) -> Optimum | None:
    """Return origin + slope / curvature with its interval; None if the curvature is not significantly above 0."""
    square = quantile**2
    a = curvature**2 - square * curvature_variance
    b = slope * curvature - square * joint_covariance
    c = slope**2 - square * slope_variance
    if curvature <= 0 or a <= 0 or b * b < a * c:
        return None
    root = math.sqrt(b * b - a * c)
    return Optimum(value=origin + slope / curvature, low=origin + (b - root) / a, high=origin + (b + root) / a)


def _as_played(parameter: Parameter, value: float, threshold: float) -> float:
    """Return the value that the bot gets: inside the limits, and rounded up with the probability of its fraction."""
    inside = min(max(value, parameter.low), parameter.high)
    return math.floor(inside + threshold) if parameter.whole else inside


class TunedParameter(NamedTuple):
    """A parameter after the games so far."""

    parameter: Parameter
    last: float
    """The value after the last iteration."""
    optimum: Optimum | None
    """The estimated optimum; None if the games do not show one."""

    @property
    def tuned(self) -> float:
        """Return the value to use: the estimated optimum, inside the limits, or else the last value."""
        parameter = self.parameter
        value = min(max(self.optimum.value, parameter.low), parameter.high) if self.optimum else self.last
        return float(round(value)) if parameter.whole else value


def tuned_parameters(course: Course) -> list[TunedParameter]:
    """Return all parameters with their last values and their estimated optima."""
    return [
        TunedParameter(parameter, last, optimum)
        for parameter, last, optimum in zip(course.tuning.parameters, course.values[-1], course.optima(), strict=True)
    ]


def tuned_values(course: Course) -> dict[str, float]:
    """Return the values to use after the games so far, by the names of the parameters."""
    return {row.parameter.name: row.tuned for row in tuned_parameters(course)}
