"""Estimates of the difference in strength from the results of a match."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_server.statistics.estimate import Pentanomial, WinsDrawsLosses, estimate

COUNTS = st.integers(0, 10**6)
NORMAL_95 = 1.959963984540054


def estimate_of_games(wins: int, draws: int, losses: int) -> dict[str, float | None]:
    return estimate(games=WinsDrawsLosses(wins, draws, losses))._asdict()


def test_estimate_of_an_even_match_is_zero() -> None:
    figures = estimate_of_games(25, 50, 25)
    assert figures["value"] == 0
    assert math.copysign(1, figures["value"] or 0.0) == 1
    assert figures["los"] == 0.5
    # Standard error of the score: sqrt(0.125 / 100); 1.96 of them to either side.
    bound = 0.5 + NORMAL_95 * math.sqrt(0.125 / 100)
    assert figures["error95"] == pytest.approx(400 * math.log10(bound / (1 - bound)))


def test_estimate_of_three_quarters_is_191_elo() -> None:
    figures = estimate_of_games(70, 10, 20)
    assert figures["value"] == pytest.approx(400 * math.log10(3))
    variance = 0.7 + 0.1 / 4 - 0.75**2
    assert figures["los"] == pytest.approx(0.5 * (1 + math.erf(0.25 / math.sqrt(variance / 100) / math.sqrt(2))))
    assert figures["normalized"] == pytest.approx(0.25 / math.sqrt(variance) * 800 / math.log(10))
    assert figures["normalized_error95"] == pytest.approx(NORMAL_95 / 10 * 800 / math.log(10))


def test_pairs_of_known_counts() -> None:
    """The expected figures are those that other programs print for the same counts."""
    games = estimate_of_games(136, 111, 96)
    assert (games["value"], games["error95"]) == pytest.approx((40.70, 30.43), abs=0.005)
    assert (games["normalized"], games["normalized_error95"]) == pytest.approx((49.77, 36.77), abs=0.005)
    assert games["los"] == pytest.approx(0.9960, abs=5e-5)
    pairs = estimate(Pentanomial(34, 54, 63, 64, 75))
    assert (pairs.value, pairs.error95) == pytest.approx((55.58, 27.65), abs=0.005)
    assert (pairs.normalized, pairs.normalized_error95) == pytest.approx((57.94, 28.28), abs=0.005)


def test_pairs_have_smaller_errors_than_their_games() -> None:
    """If the first mover wins nine games in ten, results of games vary much more than results of pairs."""
    pairs = estimate(Pentanomial(0, 40, 900, 60, 0))
    games = estimate(games=WinsDrawsLosses(910, 100 + 80, 910))
    assert pairs.error95 is not None
    assert games.error95 is not None
    assert pairs.error95 < games.error95 / 2


def test_a_game_without_a_partner_counts_as_half_a_pair() -> None:
    figures = estimate(Pentanomial(ww=1, level=1), WinsDrawsLosses(losses=1))
    assert figures.score == pytest.approx(3 / 5)
    assert figures.units == 3


@pytest.mark.parametrize("wins, losses, superiority", [(3, 0, math.sqrt(3)), (0, 3, -math.sqrt(3)), (1, 0, 1)])
def test_infinite_figures_are_none_and_one_game_gives_no_certainty(wins: int, losses: int, superiority: float) -> None:
    figures = estimate_of_games(wins, 0, losses)
    assert (figures["value"], figures["error95"], figures["normalized"]) == (None, None, None)
    assert figures["los"] == pytest.approx(0.5 * (1 + math.erf(superiority / math.sqrt(2))))


def test_a_bot_that_won_all_games_has_a_lower_bound() -> None:
    figures = estimate_of_games(27, 0, 0)
    chance = 0.05 ** (1 / 27)
    assert figures["at_least"] == pytest.approx(400 * math.log10(chance / (1 - chance)))
    assert estimate_of_games(4, 0, 0)["at_least"] is None
    assert estimate_of_games(0, 0, 27)["at_least"] == figures["at_least"]


def test_results_that_are_all_alike_have_no_error() -> None:
    for figures in (estimate_of_games(0, 7, 0), estimate(Pentanomial(level=7))._asdict()):
        assert (figures["value"], figures["error95"], figures["los"]) == (0, 0, None)
    assert estimate().score is None


def test_few_games_have_no_error_but_a_value() -> None:
    figures = estimate_of_games(2, 0, 1)
    assert figures["value"] is not None
    assert figures["error95"] is None


@given(COUNTS, COUNTS, COUNTS, st.lists(st.integers(0, 1000), min_size=5, max_size=5))
def test_no_number_is_infinite_and_swapping_sides_mirrors_it(
    wins: int, draws: int, losses: int, pairs: list[int]
) -> None:
    one = estimate(Pentanomial(*pairs), WinsDrawsLosses(wins, draws, losses))
    other = estimate(Pentanomial(*pairs[::-1]), WinsDrawsLosses(losses, draws, wins))
    assert all(number is None or math.isfinite(number) for number in one)
    assert one.los is None or 0 <= one.los <= 1
    if one.value is not None and other.value is not None:
        assert one.value == pytest.approx(-other.value, abs=1e-6)
    if one.error95 is not None and other.error95 is not None:
        assert one.error95 == pytest.approx(other.error95, rel=1e-6)
