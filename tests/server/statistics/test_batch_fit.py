"""Batch ratings equal those of statsmodels, and results without a finite maximum of the likelihood are recognised."""

from __future__ import annotations

import math
from collections.abc import Collection
from importlib.util import module_from_spec, spec_from_file_location
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_server.statistics.batch_fit import MOST_PLAYERS, FitError
from noughts_server.statistics.batch_ratings import BatchRatings, rate
from noughts_server.statistics.rated_games import GameResult, RatedGames, count_columns, count_games
from noughts_server.statistics.rating_table import AdvantageBound
from tests.support.root import ROOT
from tests.support.settings import THOROUGH, examples

_SPEC = spec_from_file_location("ratings_benchmark", ROOT / "benchmarks" / "ratings.py")
assert _SPEC is not None
assert _SPEC.loader is not None
benchmark = module_from_spec(_SPEC)
_SPEC.loader.exec_module(benchmark)

Columns = tuple[list[str], "np.ndarray[Any, Any]", "np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]


def random_games(
    players: int, games: int, *, seed: int, advantage: float = 60, draws: float = 0.4, spread: float = 200
) -> Columns:
    """Return random games of the logistic model: names, first movers, second movers, and scores of the first mover.

    `draws` scales the share of draws, `spread` is the standard deviation of the strengths in Elo.
    """
    random_source = np.random.default_rng(seed)
    strength = random_source.normal(0, spread, players)
    first = random_source.integers(0, players, games)
    second = (first + random_source.integers(1, players, games)) % players
    expected = 1 / (1 + 10 ** (-(strength[first] - strength[second] + advantage) / 400))
    half_draw_share = draws * np.minimum(expected, 1 - expected)
    random_number = random_source.random(games)
    score = np.where(
        random_number < expected - half_draw_share, 1.0, np.where(random_number < expected + half_draw_share, 0.5, 0.0)
    )
    return [f"bot{number}" for number in range(players)], first, second, score


def by_statsmodels(columns: Columns) -> tuple[dict[str, float], dict[str, float], float, float]:
    """Fit the games with statsmodels: ratings above their mean, their errors, the advantage and its error, in Elo."""
    import statsmodels.api as sm

    names, first, second, score = columns
    design = np.zeros((len(first), len(names) + 1))
    rows = np.arange(len(first))
    design[rows, first] += 1
    design[rows, second] -= 1
    design[:, -1] = 1
    # The first player is the reference; the means of ratings follow by a linear map.
    fitted = sm.GLM(score, design[:, 1:], family=sm.families.Binomial()).fit(cov_type="HC0", tol=1e-13, maxiter=200)
    number = len(names)
    full = np.vstack([np.zeros(number), np.eye(number)])[:number, : number - 1]
    centre = (np.eye(number) - np.full((number, number), 1 / number)) @ full
    scale = 400 / math.log(10)
    ratings = centre @ fitted.params[:-1] * scale
    covariance = centre @ fitted.cov_params()[:-1, :-1] @ centre.T * scale**2
    errors = 1.959963984540054 * np.sqrt(np.diag(covariance))
    return (
        dict(zip(names, ratings, strict=True)),
        dict(zip(names, errors, strict=True)),
        float(fitted.params[-1] * scale),
        float(1.959963984540054 * fitted.bse[-1] * scale),
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of statsmodels, about fractional responses
@pytest.mark.parametrize(
    "columns",
    [
        random_games(8, 400, seed=1),
        random_games(30, 10_000, seed=2),
        random_games(12, 3_000, seed=3, advantage=-150, draws=0.9),
        random_games(20, 4_000, seed=4, advantage=0, draws=0, spread=400),
        random_games(50, 5_000, seed=5, advantage=250),
    ],
    ids=["few", "usual", "many draws", "far apart", "large advantage"],
)
def test_fit_equals_statsmodels(columns: Columns) -> None:
    ratings, errors, advantage, advantage_error = by_statsmodels(columns)
    fitted = rate(count_columns(*columns))
    assert len(fitted.groups) == 1
    for player in fitted.players:
        assert player.rating == pytest.approx(1500 + ratings[player.name], abs=0.01)
        assert player.error95 == pytest.approx(errors[player.name], rel=0.01)
    assert fitted.advantage == pytest.approx(advantage, abs=0.01)
    assert fitted.advantage_error95 == pytest.approx(advantage_error, rel=0.01)


def test_expected_points_are_those_that_were_scored() -> None:
    columns = random_games(15, 4_000, seed=7)
    fitted = rate(count_columns(*columns))
    rating = {player.name: player.rating or math.nan for player in fitted.players}
    names, first, second, score = columns
    lead = np.array([rating[names[one]] - rating[names[other]] for one, other in zip(first, second, strict=True)])
    expected = 1 / (1 + 10 ** (-(lead + (fitted.advantage or math.nan)) / 400))
    for place, name in enumerate(names):
        surplus = (score - expected)[first == place].sum() - (score - expected)[second == place].sum()
        assert surplus == pytest.approx(0, abs=1e-6), name
    assert (score - expected).sum() == pytest.approx(0, abs=1e-6)


def table_values(fitted: BatchRatings) -> list[Any]:
    return [fitted.players, fitted.advantage, fitted.advantage_error95, fitted.draw_rate, list(fitted.los_matrix())]


def test_order_of_games_and_players_does_not_change_any_bit() -> None:
    names, first, second, score = random_games(25, 3_000, seed=8)
    expected = table_values(rate(count_columns(names, first, second, score)))
    chance = np.random.default_rng(1)
    for _ in range(3):
        order = chance.permutation(len(first))
        assert table_values(rate(count_columns(names, first[order], second[order], score[order]))) == expected
    backwards = len(names) - 1
    assert table_values(rate(count_columns(names[::-1], backwards - first, backwards - second, score))) == expected


def test_doubled_games_divide_errors_by_the_root_of_two() -> None:
    names, first, second, score = random_games(10, 800, seed=9)
    once = rate(count_columns(names, first, second, score))
    twice = rate(count_columns(names, np.tile(first, 2), np.tile(second, 2), np.tile(score, 2)))
    for one, two in zip(once.players, twice.players, strict=True):
        assert one.rating is not None
        assert one.error95 is not None
        assert two.rating == pytest.approx(one.rating, abs=1e-7)
        assert two.error95 == pytest.approx(one.error95 / math.sqrt(2), rel=1e-9)
    assert twice.advantage_error95 == pytest.approx((once.advantage_error95 or 0) / math.sqrt(2), rel=1e-9)


def rated_games(*results: tuple[str, str, float]) -> RatedGames:
    """Return the table of these games: first mover, second mover, score of the first."""
    return count_games(GameResult(*result) for result in results)


def all_numbers(fitted: BatchRatings) -> list[float]:
    """Return all numbers of a fit except None."""
    numbers = [fitted.advantage, fitted.advantage_error95, fitted.draw_rate]
    for player in fitted.players:
        numbers += [player.rating, player.error95, player.opposition, player.los_next]
    numbers += [number for row in fitted.los_matrix() for number in row]
    return [number for number in numbers if number is not None]


def los(fitted: BatchRatings, one: str, other: str) -> float | None:
    """Return the likelihood that one bot is stronger than the other."""
    names = [player.name for player in fitted.players]
    return list(fitted.los_matrix())[names.index(one)][names.index(other)]


def test_a_bot_that_won_all_games_is_a_group_of_its_own() -> None:
    both_ways = [("b", "c", 1.0), ("c", "b", 1.0), ("c", "b", 0.0), ("b", "c", 0.0)]
    fitted = rate(
        rated_games(*both_ways, ("champion", "b", 1), ("c", "champion", 0), ("loser", "c", 0), ("b", "loser", 1))
    )
    assert [sorted(group) for group in fitted.groups] == [["champion"], ["b", "c"], ["loser"]]
    ratings = {player.name: player.rating for player in fitted.players}
    assert (ratings["champion"], ratings["loser"]) == (None, None)
    assert ratings["b"] == pytest.approx(1500)
    assert los(fitted, "champion", "b") is None


def test_games_against_another_group_do_not_move_ratings() -> None:
    inside = [("b", "c", 1.0), ("c", "b", 1.0), ("c", "b", 0.0), ("b", "c", 0.5)]
    alone = rate(rated_games(*inside))
    among = rate(rated_games(*inside, *[("champion", "b", 1.0)] * 50))
    for player in alone.players:
        same_player = next(other for other in among.players if other.name == player.name)
        assert same_player.rating == pytest.approx(player.rating, abs=1e-6)
        assert same_player.error95 == pytest.approx(player.error95, rel=1e-6)


def test_bots_that_never_met_are_in_groups_of_their_own() -> None:
    fitted = rate(rated_games(("a", "b", 0.5), ("b", "a", 1), ("c", "d", 0.5), ("d", "c", 0)))
    assert sorted(map(sorted, fitted.groups)) == [["a", "b"], ["c", "d"]]
    assert all(player.rating is not None for player in fitted.players)
    assert los(fitted, "a", "c") is None


def test_draws_alone_give_equal_ratings_without_errors() -> None:
    fitted = rate(rated_games(("a", "b", 0.5), ("b", "a", 0.5), ("b", "c", 0.5)))
    assert [player.rating for player in fitted.players] == pytest.approx([1500] * 3)
    assert [player.error95 for player in fitted.players] == [None] * 3
    assert los(fitted, "a", "c") is None
    assert fitted.draw_rate == 1


@pytest.mark.parametrize("score", [1.0, 0.5, 0.0])
def test_one_game_gives_groups_and_no_infinity(score: float) -> None:
    fitted = rate(rated_games(("a", "b", score)))
    assert len(fitted.groups) == (1 if score == 0.5 else 2)
    assert fitted.bound is AdvantageBound.CONFOUNDED
    assert fitted.advantage is None
    assert all(map(math.isfinite, all_numbers(fitted)))


def test_players_without_games_are_alone() -> None:
    fitted = rate(count_games([], ["a", "b"]))
    assert fitted.groups == [["a"], ["b"]]
    assert (fitted.games, fitted.draw_rate, fitted.advantage) == (0, None, None)
    assert rate(count_games([])).players == ()


def test_first_mover_that_always_wins_leaves_the_advantage_unbounded() -> None:
    fitted = rate(rated_games(("a", "b", 1), ("b", "a", 1), ("b", "c", 1), ("c", "b", 1)))
    assert fitted.bound is AdvantageBound.ABOVE_ALL
    assert fitted.advantage is None
    assert [player.rating for player in fitted.players] == pytest.approx([1500] * 3)
    mirrored = rate(rated_games(("a", "b", 0), ("b", "a", 0), ("b", "c", 0), ("c", "b", 0)))
    assert mirrored.bound is AdvantageBound.BELOW_ALL


def test_advantage_is_bounded_by_a_cycle_of_three_bots() -> None:
    """The advantage is bounded although no pair has both results, because first and second movers won in a cycle."""
    around = [("a", "b", 1.0), ("c", "b", 0.0), ("a", "c", 0.0)]
    back = [("a", "b", 0.0), ("b", "c", 0.0), ("c", "a", 1.0)]
    assert rate(rated_games(*around)).bound is AdvantageBound.BELOW_ALL
    assert (
        rate(rated_games(*around, *back, *around, ("b", "a", 1), ("c", "b", 1), ("a", "c", 1))).bound
        is AdvantageBound.FINITE
    )


def by_linear_programming(table: RatedGames, anchors: Collection[str] = ()) -> bool:
    """Return whether the likelihood has exactly one finite maximum (Albert and Anderson, 1984).

    It has if no direction separates the results, and only a shift of all ratings changes no game. Anchors do not move.
    """
    from scipy.optimize import linprog

    number = len(table.players)
    above, level = [], []
    for first, second, wins, draws, losses in zip(
        table.first, table.second, table.wins, table.draws, table.losses, strict=True
    ):
        row = np.zeros(number + 1)
        row[first], row[second], row[-1] = 1, -1, 1
        row[[place for place, name in enumerate(table.players) if name in anchors]] = 0
        if draws or (wins and losses):
            level.append(row)
        else:
            above.append(row if wins else -row)
    if np.linalg.matrix_rank(np.array(above + level)) < (number + 1 - len(anchors) if anchors else number):
        return False
    if not above:
        return True
    found: Any = linprog(
        -np.sum(above, axis=0),
        A_ub=-np.array(above),
        b_ub=np.zeros(len(above)),
        A_eq=np.array(level) if level else None,
        b_eq=np.zeros(len(level)) if level else None,
        bounds=[(-1, 1)] * (number + 1),
    )
    return bool(-found.fun < 1e-9)


ANY_RESULTS = st.lists(
    st.tuples(st.sampled_from(list(permutations("abcde", 2))), st.sampled_from([1.0, 0.5, 0.0])),
    min_size=1,
    max_size=40,
)


@pytest.mark.long
@examples(40)
@given(ANY_RESULTS, st.sets(st.sampled_from("abcde"), max_size=3))
def test_results_with_a_finite_maximum_are_one_group(
    results: list[tuple[tuple[str, str], float]], anchored: set[str]
) -> None:
    table = rated_games(*((*players, score) for players, score in results))
    anchors = {name: 1500.0 + 100 * place for place, name in enumerate(table.players) if name in anchored}
    fitted = rate(table, anchors=anchors)
    assert all(map(math.isfinite, all_numbers(fitted)))
    finite = len(fitted.groups) == 1 and fitted.bound is AdvantageBound.FINITE
    assert finite == by_linear_programming(table, anchors)


@examples(20)
@given(ANY_RESULTS)
def test_prior_gives_all_bots_finite_ratings_on_one_scale(results: list[tuple[tuple[str, str], float]]) -> None:
    fitted = rate(rated_games(*((*players, score) for players, score in results)), prior=True)
    assert all(player.rating is not None and player.error95 is not None for player in fitted.players)
    assert all(map(math.isfinite, all_numbers(fitted)))
    assert np.mean([player.rating or 0 for player in fitted.players]) == pytest.approx(1500)
    assert [player.rank for player in fitted.players] == list(range(1, len(fitted.players) + 1))


def test_errors_with_a_prior_are_relative_to_the_mean_of_the_players() -> None:
    # The prior's two draws against the pool hardly change the errors of two bots that have met often.
    results = [(*pair, score) for pair in (("a", "b"), ("b", "a")) for score in (1, 1, 1, 0, 0)] * 20
    with_prior, without_prior = (
        rate(rated_games(*results, *[("a", "b", 1)] * 5), prior=True),
        rate(rated_games(*results, *[("a", "b", 1)] * 5)),
    )
    for player, other in zip(with_prior.players, without_prior.players, strict=True):
        assert player.error95 is not None
        assert other.error95 is not None
        assert 0.9 < player.error95 / other.error95 < 1.1


def test_prior_is_two_draws_against_the_pool() -> None:
    """The rating of a bot that won both games is the root of the posterior's slope, which the test computes itself."""
    from scipy.optimize import brentq

    fitted = rate(rated_games(("a", "b", 1), ("b", "a", 0)), prior=True)

    def slope(half: float) -> float:
        won, pool = 1 / (1 + math.exp(-2 * half)), 1 / (1 + math.exp(-half))
        return 2 * (1 - won) - 2 * (pool - 0.5)

    expected = brentq(slope, 0, 10) * 400 / math.log(10)
    assert fitted.advantage == pytest.approx(0, abs=1e-6)
    assert [player.rating for player in fitted.players] == pytest.approx([1500 + expected, 1500 - expected])


def test_anchor_has_its_rating_without_an_error_and_others_follow() -> None:
    table = count_columns(*random_games(6, 600, seed=11))
    free = rate(table)
    anchored = rate(table, anchors={"bot3": 2000.0})
    ratings = {player.name: player for player in anchored.players}
    assert ratings["bot3"].rating == 2000
    assert ratings["bot3"].error95 == 0
    rating = {player.name: player.rating or math.nan for player in free.players}
    for name, player in ratings.items():
        assert player.rating == pytest.approx(2000 + rating[name] - rating["bot3"], abs=1e-6)
        assert los(anchored, name, "bot3") == pytest.approx(los(free, name, "bot3"))


def test_several_anchors_hold_at_once() -> None:
    table = count_columns(*random_games(6, 600, seed=11))
    players = {player.name: player for player in rate(table, anchors={"bot0": 1000.0, "bot1": 1700.0}).players}
    assert (players["bot0"].rating, players["bot1"].rating) == (1000, 1700)
    assert players["bot2"].error95


@pytest.mark.parametrize(
    "wins, anchors, expected",
    [
        ((10, 0), (1000.0, 1600.0), 1300.0),
        ((20, 20, 20, 0, 0, 0), (1000.0, 1152.1, 1172.0, 1602.2, 1609.1, 1672.7), 1372.284),
        ((20, 20, 20, 20, 20, 1), (1000.0, 1152.1, 1172.0, 1602.2, 1609.1, 1672.7), 1781.085),
    ],
)
def test_clean_sweeps_against_anchors_count(wins: tuple[int, ...], anchors: tuple[float, ...], expected: float) -> None:
    anchor_ratings = {f"anchor{place}": rating for place, rating in enumerate(anchors)}
    results = [
        ("x", name, float(game < won)) if game % 2 else (name, "x", 1.0 - (game < won))
        for name, won in zip(anchor_ratings, wins, strict=True)
        for game in range(max(wins))
    ]
    fitted = rate(rated_games(*results), anchors=anchor_ratings)
    assert len(fitted.groups) == 1
    assert next(player for player in fitted.players if player.name == "x").rating == pytest.approx(expected, abs=0.01)


def test_an_anchor_that_has_no_games_is_refused() -> None:
    with pytest.raises(FitError, match="an anchor 'nobody'"):
        rate(rated_games(("a", "b", 1)), anchors={"nobody": 1500.0})


def test_too_many_players_are_refused() -> None:
    with pytest.raises(FitError, match="5,001 players"):
        rate(count_games([], [str(number) for number in range(MOST_PLAYERS + 1)]))


@pytest.mark.parametrize("columns, what", [((0, 0, 1.0), "itself"), ((0, 1, 0.7), "a different score")])
def test_impossible_games_are_refused(columns: tuple[int, int, float], what: str) -> None:
    first, second, score = columns
    with pytest.raises(ValueError, match=what):
        count_columns(["a", "b"], np.array([first]), np.array([second]), np.array([score]))


def test_superiority_of_two_bots_adds_up_to_one() -> None:
    fitted = rate(count_columns(*random_games(5, 500, seed=12)))
    matrix = list(fitted.los_matrix())
    for row in range(len(matrix)):
        assert matrix[row][row] is None
        for column in range(row):
            assert (matrix[row][column] or 0) + (matrix[column][row] or 0) == pytest.approx(1)
    assert [player.los_next for player in fitted.players[:-1]] == [matrix[row][row + 1] for row in range(4)]
    assert fitted.players[-1].los_next is None


@pytest.mark.long
def test_random_fits_with_far_anchors_reach_the_maximum() -> None:
    """The test makes a hundred random fits, and ten thousand in `make soak`."""
    for seed in range(10_000 if THOROUGH else 100):
        fit_errors = benchmark.random_fit(seed)
        assert fit_errors.surplus < 1e-9, seed
        assert fit_errors.deficit < 1e-9, seed
        assert fit_errors.apart < 0.01, seed


@pytest.mark.parametrize("anchor", [2250.0, -750.0, 100_000.0])
def test_distance_of_an_anchor_does_not_change_differences(anchor: float) -> None:
    results = [("x", "y", 1.0), ("y", "x", 0.0)] * 9 + [("x", "y", 0.5), ("y", "x", 0.5)]
    fitted = rate(rated_games(*results), anchors={"y": anchor})
    assert fitted.players[0].rating == pytest.approx(anchor + 400 * math.log10(19))


@pytest.mark.parametrize("prior", [False, True])
def test_numbers_of_games_beyond_a_floats_digits_are_fitted(prior: bool) -> None:
    rare = [GameResult("b0", "b1", 1), GameResult("b1", "b0", 1), GameResult("b1", "b2", 0.5)]
    frequent = [GameResult("b1", "b0", 0.5, 10**11), GameResult("b4", "b3", 0, 10**10), GameResult("b0", "b2", 1, 1000)]
    table = count_games([*rare, *frequent])
    fitted = rate(table, anchors={"b1": 0.0, "b2": -1e6}, prior=prior)
    assert all(map(math.isfinite, all_numbers(fitted)))


def test_ratings_between_anchors_beyond_reach_have_no_error() -> None:
    """Between the two anchors the likelihood is flat to the last digit, so any rating there explains the games."""
    pairs = [("x", "a"), ("a", "x"), ("x", "b"), ("b", "x")]
    both_results = [(*pair, score) for pair in pairs for score in (0.0, 1.0)]
    fitted = rate(rated_games(*both_results), anchors={"a": 50_000.0, "b": -50_000.0})
    between: Any = next(player for player in fitted.players if player.name == "x")
    assert abs(between.rating) < 50_000
    assert between.error95 is None


def test_strong_differences_do_not_stop_the_fit() -> None:
    """In this chain each bot lost one game in a thousand to the next, so the ratings are thousands of Elo apart."""
    table = count_games(
        GameResult(*pair, score, times)
        for number in range(6)
        for pair in ((f"bot{number}", f"bot{number + 1}"), (f"bot{number + 1}", f"bot{number}"))
        for score, times in (((1.0, 999), (0.0, 1)) if pair[0] < pair[1] else ((0.0, 999), (1.0, 1)))
    )
    fitted = rate(table)
    ratings = [player.rating or math.nan for player in fitted.players]
    assert np.diff(ratings) == pytest.approx([-400 * math.log10(999)] * 6, abs=1e-4)
