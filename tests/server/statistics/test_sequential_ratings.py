"""Glicko-2 and OpenSkill: against formulas written from the papers."""

import math

import numpy as np
import pytest

from noughts_server.statistics.sequential_ratings import RatedGame, glicko2_ratings, openskill_ratings


def games(number: int, bots: int = 6) -> list[RatedGame]:
    """Random games with a spread of 300 Elo; a fifth of those between equals are drawn."""
    chance = np.random.default_rng(5)
    truth = chance.normal(0, 300, bots)
    found: list[RatedGame] = []
    for _ in range(number):
        one, other = map(int, chance.choice(bots, 2, replace=False))
        expected = 1 / (1 + 10 ** ((truth[other] - truth[one]) / 400))
        half, at = 0.2 * min(expected, 1 - expected), chance.random()
        found.append(
            (f"bot{one}", f"bot{other}", 1.0 if at < expected - half else 0.5 if at < expected + half else 0.0)
        )
    return found


def glicko2_step(own: tuple[float, float, float], other: tuple[float, float, float], score: float) -> tuple[float, ...]:
    """Steps 2 to 8 of Glickman's "Example of the Glicko-2 system", with bisection for the volatility."""
    scale, tau = 173.7178, 0.5
    mu, phi, sigma = (own[0] - 1500) / scale, own[1] / scale, own[2]
    mu_j, phi_j = (other[0] - 1500) / scale, other[1] / scale
    g = 1 / math.sqrt(1 + 3 * phi_j**2 / math.pi**2)
    expected = 1 / (1 + math.exp(-g * (mu - mu_j)))
    v = 1 / (g**2 * expected * (1 - expected))
    delta = v * g * (score - expected)

    def f(x: float) -> float:
        e = math.exp(x)
        return e * (delta**2 - phi**2 - v - e) / (2 * (phi**2 + v + e) ** 2) - (x - math.log(sigma**2)) / tau**2

    low, high = -30.0, 30.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    sigma = math.exp(low / 2)
    phi = 1 / math.sqrt(1 / (phi**2 + sigma**2) + 1 / v)
    return (mu + phi**2 * g * (score - expected)) * scale + 1500, phi * scale, sigma


def test_glicko2_is_that_of_the_paper() -> None:
    ratings: dict[str, tuple[float, ...]] = {}
    for first, second, score in games(2_000):
        one, other = (ratings.get(name, (1500.0, 350.0, 0.06)) for name in (first, second))
        ratings[first] = glicko2_step(one, other, score)  # type: ignore[arg-type]
        ratings[second] = glicko2_step(other, one, 1 - score)  # type: ignore[arg-type]
    for name, estimate in glicko2_ratings(games(2_000)).items():
        assert estimate.view_rating == pytest.approx(ratings[name][0], abs=1)
        assert estimate.view_error95 == pytest.approx(1.96 * ratings[name][1], abs=2)


def test_openskill_rates_two_players_as_in_the_paper() -> None:
    """Algorithm 4 of R. Weng and C.-J. Lin, "A Bayesian approximation method for online ranking", 2011."""
    mu, variance, beta, tau = 25.0, (25 / 3) ** 2, 25 / 6, 25 / 300
    variance += tau**2
    c = math.sqrt(2 * variance + 2 * beta**2)
    share = math.sqrt(variance) / c
    omega = variance / c * 0.5
    after = math.sqrt(variance * (1 - share * variance / c**2 * 0.25))
    ratings = openskill_ratings([("won", "lost", 1.0)])
    assert ratings["won"].view_rating == pytest.approx(60 * (mu + omega))
    assert ratings["lost"].view_rating == pytest.approx(60 * (mu - omega))
    assert ratings["won"].view_error95 == pytest.approx(1.959964 * 60 * after, rel=1e-6)


@pytest.mark.parametrize("rate", [glicko2_ratings, openskill_ratings])
def test_draws_of_equals_change_errors_only(rate: object) -> None:
    assert callable(rate)
    new = rate([("a", "b", 0.5)])
    more = rate([("a", "b", 0.5), ("b", "a", 0.5)])
    assert new["a"].view_rating == new["b"].view_rating == pytest.approx(1500)
    assert more["a"].view_error95 < new["a"].view_error95
    assert (new["a"].rank_low, new["a"].rank_high) == (None, None)
