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

ALPHA = 0.602
GAMMA = 0.101
_STABILITY_SHARE = 0.1
"""A as a share of the number of iterations."""
_LEAST_WHOLE_PERTURBATION = 0.5
"""With less, both sets would often have the same whole number."""
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

    def moved(self, iteration: int, values: Sequence[float], result: "PlayedIteration") -> tuple[float, ...]:
        """Return the parameters' values after this iteration, which began at these values."""
        difference = result.wins - result.losses
        directions = self.pair_of_sets(iteration, values).directions
        return tuple(
            min(
                max(value + self.gain(parameter, iteration) * difference * direction, parameter.low),
                parameter.high,
            )
            for parameter, value, direction in zip(self.parameters, values, directions, strict=True)
        )

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
        self.directions: list[tuple[int, ...]] = []
        """For each iteration, the directions of `PairOfSets`."""
        self.scores: list[float] = []
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

    def curve(self, most: int) -> dict[int, tuple[float, ...]]:
        """Return the values after some iterations, at most this many, by their numbers; the last one is included."""
        last = self.iteration - 1
        every = last // (most - 1) + 1
        return {number: self.values[number] for number in dict.fromkeys([*range(0, last, every), last])}

    def next_pair(self) -> PairOfSets:
        """Return the two sets of values of the next iteration."""
        return self.tuning.pair_of_sets(self.iteration, self.values[-1])

    def add(self, result: PlayedIteration) -> None:
        """Move the values by the result of the next iteration."""
        self.directions.append(self.next_pair().directions)
        self.values.append(self.tuning.moved(self.iteration, self.values[-1], result))
        self.scores.append((result.wins - result.losses) / max(sum(result), 1))


def _as_played(parameter: Parameter, value: float, threshold: float) -> float:
    """Return the value that the bot gets: inside the limits, and rounded up with the probability of its fraction."""
    inside = min(max(value, parameter.low), parameter.high)
    return math.floor(inside + threshold) if parameter.whole else inside
