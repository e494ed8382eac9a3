"""Estimate the optima of tuned parameters from all games of a tuning. This module loads numpy and scipy."""

import math
from typing import NamedTuple

import numpy as np

from noughts_server.statistics.linear_algebra import stdtrit
from noughts_server.statistics.spsa import Course, Parameter

_FEWEST_ITERATIONS = 20
"""With fewer, there are too few results for an estimate of the optimum."""


class Optimum(NamedTuple):
    """An estimate of the value at which a bot is strongest, with the other parameters near their optima."""

    value: float
    low: float
    """The lower limit of the 95 % confidence interval."""
    high: float
    """The upper limit."""


def optima(course: Course) -> list[Optimum | None]:
    """Estimate each parameter's optimum from all games; None if they do not show one.

    If strength falls with the square of the distance from the optimum, the expected score of an iteration is linear
    in the perturbations and in their products with the values at the time:

        score = sum over the parameters of direction * c(k) * (g - h * value)

    A least-squares fit of g and h gives the optimum g / h. Its 95 % interval has all values at which the slope
    g - h * value is not different from 0 (E. C. Fieller, "Some problems in interval estimation", Journal of the
    Royal Statistical Society B 16, 1954). If h is not above 0 with the same confidence, there is no optimum: the
    values did not move far enough, or strength has no peak there.
    """
    count, played = len(course.tuning.parameters), len(course.scores)
    if played < max(_FEWEST_ITERATIONS, 4 * count):
        return [None] * count
    perturbations = np.array(
        [
            [
                direction * course.tuning.perturbation(parameter, iteration)
                for parameter, direction in zip(course.tuning.parameters, directions, strict=True)
            ]
            for iteration, directions in enumerate(course.directions, start=1)
        ]
    )
    values = np.array(course.values[:-1])
    means = values.mean(axis=0)
    # Values relative to their mean keep the two columns of a parameter apart.
    design = np.hstack([perturbations, -perturbations * (values - means)])
    scores = np.array(course.scores)
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
        for parameter, last, optimum in zip(course.tuning.parameters, course.values[-1], optima(course), strict=True)
    ]


def tuned_values(course: Course) -> dict[str, float]:
    """Return the values to use after the games so far, by the names of the parameters."""
    return {row.parameter.name: row.tuned for row in tuned_parameters(course)}


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
