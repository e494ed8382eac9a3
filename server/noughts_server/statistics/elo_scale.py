"""The Elo scale: 400 points are a factor of ten in the odds (A. Elo, "The Rating of Chessplayers", 1978)."""

import math

ELO_PER_NAT = 400.0 / math.log(10.0)
"""Elo per unit of the logistic curve: 173.7."""

NORMALIZED_PER_DEVIATION = 800.0 / math.log(10.0)
"""Normalized Elo per standard deviation of a game's score: 347.4 (Van den Bergh, "Normalized Elo")."""

NORMAL_95 = 1.959963984540054
"""Two-sided 95 % of the normal distribution, in standard errors."""


def elo_of_score(score: float) -> float | None:
    """Return the difference in Elo at which this score is expected; None if infinite."""
    if not 0.0 < score < 1.0:
        return None
    # Adding 0.0 turns the -0.0 of an even score into 0.0.
    return -400.0 * math.log10(1.0 / score - 1.0) + 0.0


def score_of_elo(elo: float) -> float:
    """Return the expected score, between 0 and 1, of a player that is stronger by `elo`."""
    return 1.0 / (1.0 + math.exp(-elo / ELO_PER_NAT))


def normal_cdf(deviations: float) -> float:
    """Return the probability that a normal variable is below this many standard deviations."""
    return 0.5 * (1.0 + math.erf(deviations / math.sqrt(2.0)))
