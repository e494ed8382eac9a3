"""Elo ratings after single games, and their errors."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import Result
from noughts_server.competition.elo import START, Rating, rate_game, rating_error


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


def test_error_of_a_rating_is_that_of_ratings_of_equal_bots() -> None:
    random_source = Random(5)
    for games, tolerance in ((30, 0.15), (300, 0.15), (3_000, 0.15)):
        errors = []
        for _ in range(400):
            # The bot starts far from its true rating. Each opponent is as strong as the bot, and has the true rating.
            bot = Rating(START + random_source.gauss(0.0, 350.0))
            for _ in range(games):
                opponent = Rating(START, games=bot.games)
                rate_game(bot, opponent, Result.FIRST_WINS if random_source.random() < 0.5 else Result.SECOND_WINS)
            errors.append((bot.rating - START) ** 2)
        measured = 1.96 * (sum(errors) / len(errors)) ** 0.5
        assert abs(rating_error(games) / measured - 1) < tolerance, games


def test_error_of_a_rating_never_grows() -> None:
    errors = [rating_error(games) for games in range(1_000)]
    assert errors[0] == pytest.approx(686, abs=1)
    assert errors == sorted(errors, reverse=True)
