"""Elo."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import Result
from noughts_server.competition.elo import EloEstimate, Rating, elo_estimate, rate_game

COUNTS = st.integers(0, 10**6)


def test_first_game_of_two_new_bots_moves_half_of_forty() -> None:
    winner, loser = Rating(), Rating()
    rate_game(winner, loser, Result.FIRST_WINS)
    assert winner == Rating(1520.0, games=1, wins=1)
    assert loser == Rating(1480.0, games=1, losses=1)


def test_draw_moves_points_to_the_weaker() -> None:
    weaker, stronger = Rating(1400.0), Rating(1600.0)
    rate_game(weaker, stronger, Result.DRAW)
    # Expected score of the weaker: 1 / (1 + 10 ** 0.5).
    gain = 40 * (0.5 - 1 / (1 + math.sqrt(10)))
    assert weaker.rating == pytest.approx(1400 + gain)
    assert stronger.rating == pytest.approx(1600 - gain)
    assert (weaker.draws, stronger.draws) == (1, 1)


@pytest.mark.parametrize("games, factor", [(0, 40), (29, 40), (30, 20), (299, 20), (300, 10), (100_000, 10)])
def test_ratings_settle_with_the_number_of_games(games: int, factor: int) -> None:
    one, other = Rating(games=games), Rating()
    rate_game(one, other, Result.SECOND_WINS)
    assert one.rating == 1500 - factor / 2
    assert other.rating == 1520


def test_rating_is_provisional_for_thirty_games() -> None:
    assert [Rating(games=games).provisional for games in (0, 29, 30)] == [True, True, False]


def test_void_game_changes_nothing() -> None:
    one, other = Rating(1510.0, games=3), Rating()
    rate_game(one, other, Result.VOID)
    assert (one, other) == (Rating(1510.0, games=3), Rating())


@given(st.lists(st.sampled_from([Result.FIRST_WINS, Result.DRAW, Result.SECOND_WINS]), max_size=25))
def test_points_are_only_moved_while_both_bots_are_new(results: list[Result]) -> None:
    one, other = Rating(), Rating()
    for result in results:
        rate_game(one, other, result)
    assert one.rating + other.rating == pytest.approx(3000)
    assert one.games == other.games == one.wins + one.draws + one.losses == len(results)


def test_estimate_of_an_even_match_is_zero() -> None:
    value, error, superiority = elo_estimate(25, 50, 25)
    assert value == 0
    assert math.copysign(1, value) == 1
    assert superiority == 0.5
    # Standard error of the score: sqrt(0.125 / 100); 1.96 of them to either side.
    bound = 0.5 + 1.959963984540054 * math.sqrt(0.125 / 100)
    assert error == pytest.approx(400 * math.log10(bound / (1 - bound)))


def test_estimate_of_three_quarters_is_191_elo() -> None:
    value, _, superiority = elo_estimate(70, 10, 20)
    assert value == pytest.approx(400 * math.log10(3))
    assert superiority == pytest.approx(0.5 * (1 + math.erf(50 / math.sqrt(180))))


@pytest.mark.parametrize(
    "results, expected",
    [
        ((0, 0, 0), EloEstimate(None, None, None)),
        ((3, 0, 0), EloEstimate(None, None, 0.5 * (1 + math.erf(math.sqrt(1.5))))),
        ((0, 0, 3), EloEstimate(None, None, 0.5 * (1 - math.erf(math.sqrt(1.5))))),
        ((0, 7, 0), EloEstimate(0.0, 0.0, None)),
    ],
    ids=["no games", "only wins", "only losses", "only draws"],
)
def test_what_would_be_infinite_is_none(results: tuple[int, int, int], expected: EloEstimate) -> None:
    assert elo_estimate(*results) == expected


def test_few_games_have_no_error_but_a_value() -> None:
    value, error, _ = elo_estimate(2, 0, 1)
    assert value is not None
    assert error is None


@given(COUNTS, COUNTS, COUNTS)
def test_no_number_is_infinite_and_swapping_sides_mirrors_it(wins: int, draws: int, losses: int) -> None:
    one, other = elo_estimate(wins, draws, losses), elo_estimate(losses, draws, wins)
    assert all(number is None or math.isfinite(number) for number in one)
    assert one.los is None or 0 <= one.los <= 1
    if one.value is not None and other.value is not None:
        assert one.value == pytest.approx(-other.value, abs=1e-6)
    if one.error95 is not None and other.error95 is not None:
        assert one.error95 == pytest.approx(other.error95, rel=1e-6)
