"""The difference in strength that a match suggests."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_server.statistics.estimate import Pentanomial, WinsDrawsLosses, estimate

COUNTS = st.integers(0, 10**6)
NORMAL_95 = 1.959963984540054


def of_games(wins: int, draws: int, losses: int) -> dict[str, float | None]:
    return estimate(games=WinsDrawsLosses(wins, draws, losses))._asdict()


def test_estimate_of_an_even_match_is_zero() -> None:
    told = of_games(25, 50, 25)
    assert told["value"] == 0
    assert math.copysign(1, told["value"] or 0.0) == 1
    assert told["los"] == 0.5
    # Standard error of the score: sqrt(0.125 / 100); 1.96 of them to either side.
    bound = 0.5 + NORMAL_95 * math.sqrt(0.125 / 100)
    assert told["error95"] == pytest.approx(400 * math.log10(bound / (1 - bound)))


def test_estimate_of_three_quarters_is_191_elo() -> None:
    told = of_games(70, 10, 20)
    assert told["value"] == pytest.approx(400 * math.log10(3))
    variance = 0.7 + 0.1 / 4 - 0.75**2
    assert told["los"] == pytest.approx(0.5 * (1 + math.erf(0.25 / math.sqrt(variance / 100) / math.sqrt(2))))
    assert told["normalized"] == pytest.approx(0.25 / math.sqrt(variance) * 800 / math.log(10))
    assert told["normalized_error95"] == pytest.approx(NORMAL_95 / 10 * 800 / math.log(10))


def test_pairs_of_known_counts() -> None:
    """136 wins, 111 draws, 96 losses, and pairs (34, 54, 63, 64, 75): the figures that other programs print."""
    games = of_games(136, 111, 96)
    assert (games["value"], games["error95"]) == pytest.approx((40.70, 30.43), abs=0.005)
    assert (games["normalized"], games["normalized_error95"]) == pytest.approx((49.77, 36.77), abs=0.005)
    assert games["los"] == pytest.approx(0.9960, abs=5e-5)
    pairs = estimate(Pentanomial(34, 54, 63, 64, 75))
    assert (pairs.value, pairs.error95) == pytest.approx((55.58, 27.65), abs=0.005)
    assert (pairs.normalized, pairs.normalized_error95) == pytest.approx((57.94, 28.28), abs=0.005)


def test_pairs_have_smaller_errors_than_their_games() -> None:
    """The first mover wins nine games in ten: games scatter widely, pairs hardly."""
    pairs = estimate(Pentanomial(0, 40, 900, 60, 0))
    games = estimate(games=WinsDrawsLosses(910, 100 + 80, 910))
    assert pairs.error95 is not None
    assert games.error95 is not None
    assert pairs.error95 < games.error95 / 2


def test_a_game_without_a_partner_counts_as_half_a_pair() -> None:
    told = estimate(Pentanomial(ww=1, level=1), WinsDrawsLosses(losses=1))
    assert told.score == pytest.approx(3 / 5)
    assert told.units == 3


@pytest.mark.parametrize("wins, losses, superiority", [(3, 0, math.sqrt(3)), (0, 3, -math.sqrt(3)), (1, 0, 1)])
def test_what_would_be_infinite_is_none_and_one_game_is_no_certainty(
    wins: int, losses: int, superiority: float
) -> None:
    told = of_games(wins, 0, losses)
    assert (told["value"], told["error95"], told["normalized"]) == (None, None, None)
    assert told["los"] == pytest.approx(0.5 * (1 + math.erf(superiority / math.sqrt(2))))


def test_who_has_won_everything_is_stronger_by_so_much_at_least() -> None:
    told = of_games(27, 0, 0)
    chance = 0.05 ** (1 / 27)
    assert told["at_least"] == pytest.approx(400 * math.log10(chance / (1 - chance)))
    assert of_games(4, 0, 0)["at_least"] is None
    assert of_games(0, 0, 27)["at_least"] == told["at_least"]


def test_results_that_are_all_alike_do_not_scatter() -> None:
    for told in (of_games(0, 7, 0), estimate(Pentanomial(level=7))._asdict()):
        assert (told["value"], told["error95"], told["los"]) == (0, 0, None)
    assert estimate().score is None


def test_few_games_have_no_error_but_a_value() -> None:
    told = of_games(2, 0, 1)
    assert told["value"] is not None
    assert told["error95"] is None


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
