"""The generalised sequential probability ratio test: is A stronger by elo1, or only by elo0?

A. Wald's test (1945) with maximum likelihood under each hypothesis, on the counts of results: three cells (loss, draw,
win) or five (pairs, `Pentanomial`). In the logistic model a hypothesis fixes the mean score, in the normalized one the
mean in standard deviations (M. Van den Bergh, "A practical introduction to the GSPRT", "The generalised maximum
likelihood ratio for the expectation value of a distribution" and "Normalized Elo"). An empty cell counts 0.001, so that
a match without losses is also decided.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

from noughts_referee.rules import InvalidInput
from noughts_server.statistics.elo_scale import NORMALIZED_PER_DEVIATION, score_of_elo

_EMPTY_CELL = 0.001
"""The count of an outcome that has not occurred, so that its logarithm exists."""
_NO_DEVIATION = 1e-9
"""A smaller standard deviation counts as 0."""
# At the widest root there is no surplus; this prevents one from rounding.
_ROUNDING = 1e-12
_GRID = [step / 4 for step in range(-4, 5)]
LARGEST_ELO = 1000.0
LEAST_ELO = 0.01
"""The minimal distance of the hypotheses: closer ones take an unplayable number of games."""
LEAST_ERROR = 1e-9


class SprtModel(StrEnum):
    """The unit of `elo0` and `elo1`."""

    LOGISTIC = "logistic"
    NORMALIZED = "normalized"


class Decision(StrEnum):
    """The hypothesis that a test has accepted, if any."""

    H0 = "H0"
    H1 = "H1"
    CONTINUE = "continue"


class SprtError(InvalidInput):
    """An impossible test."""


class SprtState(NamedTuple):
    """The state of a test after some results."""

    llr: float
    """The logarithm of the likelihood ratio of H1 to H0."""
    lower: float
    """At or below it, H0 is accepted."""
    upper: float
    """At or above it, H1 is accepted."""
    decision: Decision


def check_elo(name: str, elo: float) -> None:
    """Raise SprtError for a difference in Elo that is too large."""
    if not abs(elo) <= LARGEST_ELO:
        raise SprtError(f"{name}={elo:g}", f"-{LARGEST_ELO:.0f} to {LARGEST_ELO:.0f}")


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test. Raises SprtError if it is impossible."""

    elo0: float
    """The superiority of A under H0, in Elo or normalized Elo."""
    elo1: float
    """The same under H1; more than `elo0`."""
    alpha: float = 0.05
    """The probability to accept H1 if H0 is true."""
    beta: float = 0.05
    """The probability to accept H0 if H1 is true."""
    model: SprtModel = SprtModel.LOGISTIC

    def __post_init__(self) -> None:
        check_elo("elo0", self.elo0)
        check_elo("elo1", self.elo1)
        if not self.elo0 + LEAST_ELO <= self.elo1:
            raise SprtError(f"elo0={self.elo0:g} and elo1={self.elo1:g}", f"elo0 below elo1, by {LEAST_ELO:g} or more")
        for name, rate in (("alpha", self.alpha), ("beta", self.beta)):
            if not LEAST_ERROR <= rate < 0.5:
                raise SprtError(f"{name}={rate:g}", f"at least {LEAST_ERROR:g} and less than 0.5")

    @classmethod
    def parse(cls, text: str, *, complete: bool = True) -> "Sprt":
        """Return the test written as `elo0=0,elo1=5[,alpha=0.05,beta=0.05,model=logistic]`. Raises SprtError.

        Without `complete`, elo0 and elo1 can be missing: they are 0 and 5 then.
        """
        expected = "elo0=ELO,elo1=ELO and optionally alpha=P, beta=P, model=logistic or model=normalized"
        kinds = {"elo0": float, "elo1": float, "alpha": float, "beta": float, "model": SprtModel}
        values: dict[str, Any] = {}
        for part in text.split(","):
            name, _, value = (word.strip() for word in part.partition("="))
            if name in values:
                raise SprtError(f"{name} twice", "it once")
            try:
                values[name] = kinds[name](value)
            except (KeyError, ValueError):
                raise SprtError(repr(part.strip()), expected) from None
        if complete and (missing := [name for name in ("elo0", "elo1") if name not in values]):
            raise SprtError(f"no {missing[0]}", expected)
        return cls(**{"elo0": 0.0, "elo1": 5.0} | values)

    def __str__(self) -> str:
        return f"elo0={self.elo0:g},elo1={self.elo1:g},alpha={self.alpha:g},beta={self.beta:g},model={self.model}"

    def of_each(self, number: int) -> "Sprt":
        """Return the test of each of `number` candidates, which together err at this test's rates. Raises SprtError."""
        if number < 1:
            raise SprtError(f"{number} candidates", "1 or more")
        if self.alpha < LEAST_ERROR * number:
            least = f"at least {LEAST_ERROR * number:g}, because {number} candidates share it"
            raise SprtError(f"alpha={self.alpha:g}", least)
        return replace(self, alpha=self.alpha / number)

    @property
    def lower(self) -> float:
        """Return Wald's limit for H0."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """Return Wald's limit for H1."""
        return math.log((1 - self.beta) / self.alpha)

    def judge(self, counts: Sequence[float]) -> SprtState:
        """Return the state after these counts: of losses, draws, wins, or of pairs from LL to WW."""
        return self.state(self.llr(counts))

    def state(self, llr: float) -> SprtState:
        """Return the state at this logarithm of the likelihood ratio."""
        decision = Decision.CONTINUE
        if llr >= self.upper:
            decision = Decision.H1
        elif llr <= self.lower:
            decision = Decision.H0
        return SprtState(llr, self.lower, self.upper, decision)

    def llr(self, counts: Sequence[float]) -> float:
        """Return the logarithm of the likelihood ratio for these counts; 0 if all are 0."""
        if not any(counts):
            return 0.0
        cells = [count or _EMPTY_CELL for count in counts]
        total = math.fsum(cells)
        shares = [cell / total for cell in cells]
        return total * math.fsum(share * step for share, step in zip(shares, self.steps(shares), strict=True))

    def steps(self, shares: Sequence[float]) -> list[float]:
        """Return what a result of each cell adds to the LLR, ln(p1 / p0), if results have these positive shares."""
        values = [place / (len(shares) - 1) for place in range(len(shares))]
        fitted = [self._fitted(shares, values, elo) for elo in (self.elo0, self.elo1)]
        return [math.log(chance1 / chance0) for chance0, chance1 in zip(*fitted, strict=True)]

    def _fitted(self, shares: Sequence[float], values: Sequence[float], elo: float) -> list[float]:
        """Return the most likely probabilities of the cells under one hypothesis."""
        if self.model is SprtModel.LOGISTIC:
            score = score_of_elo(elo)
            return _tilted(shares, [value - score for value in values])
        # A pair's score has half the variance of a game's, so its mean is farther in deviations by the root of two.
        deviations = elo / NORMALIZED_PER_DEVIATION * math.sqrt((len(shares) - 1) / 2)
        return _fitted_normalized(shares, values, deviations)


def _fitted_normalized(shares: Sequence[float], values: Sequence[float], deviations: float) -> list[float]:
    """Return the most likely probabilities whose mean is `deviations` standard deviations above 1/2.

    With a = value - 1/2, c = deviations / sqrt(1 + deviations^2) and r^2 = E[a^2] the constraint is E[a] = c r. It is
    linear for a given r: E[a - c (a^2 / r + r) / 2] = 0. The maxima are among the r at which the fitted probabilities
    have that r. Each lies where a cell above 1/2 can balance the others: from s a to a / s, s = tan(arcsin(c) / 2).
    """
    if deviations < 0:
        return _fitted_normalized(shares[::-1], values, -deviations)[::-1]
    above = [value - 0.5 for value in values]
    if deviations < _NO_DEVIATION:
        return _tilted(shares, above)
    from scipy.optimize import brentq

    c = deviations / math.hypot(1, deviations)
    narrowest = math.log(c / (1 + math.sqrt(1 - c * c))) * (1 - 1e-9)
    # Steps of a geometric grid: there is one maximum, or one for each cell if H1 is far above the results.
    grid = sorted({min(a * math.exp(narrowest * step), 0.5) for a in above if a > 0 for step in _GRID})

    def fitted(root: float) -> list[float]:
        return _tilted(shares, [a - c * (a * a / root + root) / 2 for a in above])

    def surplus(root: float) -> float:
        probabilities = fitted(root)
        square = math.fsum(share * a * a for share, a in zip(probabilities, above, strict=True)) / math.fsum(
            probabilities
        )
        return square - root**2 - _ROUNDING

    heights = [surplus(root) for root in grid]
    maxima = [
        fitted(brentq(surplus, low, high, xtol=1e-13))
        for (low, high), (before, after) in zip(pairwise(grid), pairwise(heights), strict=True)
        if before >= 0 >= after
    ]
    return max(
        maxima,
        key=lambda probabilities: math.fsum(
            share * math.log(p) for share, p in zip(shares, probabilities, strict=True)
        ),
    )


def _tilted(shares: Sequence[float], slopes: Sequence[float]) -> list[float]:
    """Return the most likely probabilities with mean 0 of `slopes`: shares / (1 + t slopes) for some t."""
    from scipy.optimize import brentq

    def mean(tilt: float) -> float:
        return math.fsum(share * slope / (1 + tilt * slope) for share, slope in zip(shares, slopes, strict=True))

    # No probability is above 1, which bounds t on both sides.
    low = max((share - 1) / slope for share, slope in zip(shares, slopes, strict=True) if slope > 0)
    high = min((share - 1) / slope for share, slope in zip(shares, slopes, strict=True) if slope < 0)
    if mean(low) <= 0:
        tilt = low
    elif mean(high) >= 0:
        tilt = high
    else:
        tilt = brentq(mean, low, high, xtol=1e-15, rtol=1e-14)
    return [share / (1 + tilt * slope) for share, slope in zip(shares, slopes, strict=True)]
