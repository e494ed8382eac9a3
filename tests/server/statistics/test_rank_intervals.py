"""Rank intervals: their coverage in simulated leagues, and cases with a known answer."""

import math
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

from noughts_server.statistics.batch_fit import fit
from noughts_server.statistics.rank_intervals import RATE, range_quantile, rank_intervals
from noughts_server.statistics.rated_games import GameResult, count_games
from tests.support.root import ROOT

_SPEC = spec_from_file_location("ranks_benchmark", ROOT / "benchmarks" / "ranks.py")
assert _SPEC is not None
assert _SPEC.loader is not None
benchmark = module_from_spec(_SPEC)
_SPEC.loader.exec_module(benchmark)


def rank_intervals_of(games: list[GameResult], retired: str = "") -> dict[str, tuple[int, int]]:
    """Return the lowest and highest rank of each player; players whose letter is in `retired` are not ranked."""
    fitted = fit(count_games(games), prior=True)
    names = fitted.games.players
    low, high = rank_intervals(fitted, np.array([name not in retired for name in names]))
    return dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))


def nine_of_ten_won(winner: str, loser: str, times: int = 100) -> list[GameResult]:
    """Return ten times `times` games, of which `winner` won nine of ten, half of them moving first."""
    counts = (winner, loser, 1.0, 5), (loser, winner, 0.0, 4), (loser, winner, 1.0, 1)
    return [GameResult(first, second, score, times * share) for first, second, score, share in counts]


def test_all_ranks_are_covered_in_95_of_100_leagues() -> None:
    leagues = [benchmark.coverage(seed) for seed in range(200)]
    assert sum(league.covered == league.bots for league in leagues) >= RATE * len(leagues)
    # Leagues of equal bots are the hardest, because any claimed difference is wrong. They are every fourth seed.
    equal = [benchmark.coverage(seed) for seed in range(0, 4 * 200, 4)]
    assert {league.kind for league in equal} == {"all equal"}
    assert sum(league.covered == league.bots for league in equal) >= RATE * len(equal)


def test_many_games_leave_one_rank_for_each_bot() -> None:
    games = (
        nine_of_ten_won("a", "b")
        + nine_of_ten_won("b", "c")
        + nine_of_ten_won("a", "c")
        + nine_of_ten_won("c", "d")
        + nine_of_ten_won("b", "d")
    )
    assert rank_intervals_of(games) == {"a": (1, 1), "b": (2, 2), "c": (3, 3), "d": (4, 4)}


def test_equal_bots_share_their_ranks() -> None:
    games = [GameResult(one, other, score, 500) for one, other in ("ab", "ba") for score in (1.0, 0.5, 0.0)]
    assert rank_intervals_of(games + nine_of_ten_won("a", "c") + nine_of_ten_won("b", "c")) == {
        "a": (1, 2),
        "b": (1, 2),
        "c": (3, 3),
    }


def test_retired_bots_are_compared_but_not_counted() -> None:
    games = nine_of_ten_won("a", "b") + nine_of_ten_won("b", "c") + nine_of_ten_won("a", "c")
    assert rank_intervals_of(games, retired="b") == {"a": (1, 1), "b": (2, 2), "c": (2, 2)}


@pytest.mark.parametrize("retired", ["", "d"])
def test_pools_without_a_common_game_have_no_order(retired: str) -> None:
    ranks = rank_intervals_of(nine_of_ten_won("a", "b") + nine_of_ten_won("c", "d"), retired)
    last = 4 - len(retired)
    assert ranks["a"] == (1, last - 1)
    assert ranks["b"] == (2, last)
    assert ranks["c"] == (1, last - (not retired))


def test_two_games_order_nobody() -> None:
    assert set(rank_intervals_of([GameResult("a", "b", 1.0), GameResult("b", "a", 0.0)]).values()) == {(1, 2)}


def test_sole_bot_is_first() -> None:
    assert rank_intervals_of(nine_of_ten_won("a", "b"), retired="b") == {"a": (1, 1), "b": (2, 2)}


@pytest.mark.parametrize("number", [2, 3, 10, 100, 1_000])
def test_critical_values_are_those_of_scipy(number: int) -> None:
    from scipy.stats import studentized_range

    expected = studentized_range.ppf(RATE, number, math.inf)
    assert range_quantile(RATE, number) == pytest.approx(expected, abs=1e-6)


@pytest.mark.processes
def test_rank_intervals_load_no_statistics_of_scipy() -> None:
    program = "import sys, noughts_server.statistics.rank_intervals; print('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
