"""How long a batch fit of ratings takes, and how it compares with statsmodels on the same games in the same run.

Games are drawn by the logistic model. Counting them, the fit with its errors, and the table are timed.
Usage: python benchmarks/ratings.py [--rounds 3]
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noughts_server.statistics.batch_ratings import BatchRatings, rate
from noughts_server.statistics.rated_games import count_columns


class Drawn(NamedTuple):
    """Games: names, and a row for each with the first mover, the second, and the first's score."""

    names: list[str]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]


def drawn(bots: int, games: int, seed: int = 1) -> Drawn:
    """Ratings scatter by 200, moving first is worth 60, a fifth of the games between equals is drawn."""
    chance = np.random.default_rng(seed)
    strength = chance.normal(0, 200, bots)
    first = chance.integers(0, bots, games)
    second = (first + chance.integers(1, bots, games)) % bots
    expected = 1 / (1 + 10 ** (-(strength[first] - strength[second] + 60) / 400))
    half = 0.2 * np.minimum(expected, 1 - expected)
    at = chance.random(games)
    score = np.where(at < expected - half, 1.0, np.where(at < expected + half, 0.5, 0.0))
    return Drawn([f"bot{number:05}" for number in range(bots)], first, second, score)


def fitted(games: Drawn) -> BatchRatings:
    """Ours, from rows to the table."""
    return rate(count_columns(*games))


def by_statsmodels(games: Drawn) -> dict[str, float]:
    """The same as a generalised linear model with a row for each game; ratings above their mean in Elo."""
    import statsmodels.api as sm

    rows = np.arange(len(games.first))
    design = np.zeros((len(rows), len(games.names)))
    design[rows, games.first] += 1
    design[rows, games.second] -= 1
    design[:, 0] = 1  # the first bot is the reference; its column is the advantage's
    model = sm.GLM(games.score, design, family=sm.families.Binomial()).fit(cov_type="HC0")
    ratings = np.concatenate(([0.0], model.params[1:])) * 400 / math.log(10)
    return dict(zip(games.names, ratings - ratings.mean(), strict=True))


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the clock, seconds of the processor, and the result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - clock, time.process_time() - processor, result


def main() -> None:
    """Prints a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    rounds = parser.parse_args().rounds
    for bots, number in ((30, 10_000), (100, 100_000), (1_000, 1_000_000), (2_000, 1_000_000)):
        games = drawn(bots, number)
        runs = [timed(lambda games=games: fitted(games)) for _ in range(rounds)]  # type: ignore[misc]
        clock, processor = min(run[0] for run in runs), min(run[1] for run in runs)
        print(f"{number:>9,} games of {bots:>5,} bots: {clock:.3f} s, {processor:.3f} s of the processor")
    games = drawn(100, 100_000)
    ours = min((timed(lambda: fitted(games)) for _ in range(rounds)), key=lambda run: run[1])
    warnings.simplefilter("ignore")  # of statsmodels, about fractional responses
    theirs = timed(lambda: by_statsmodels(games))
    ratings = {player.name: (player.rating or math.nan) - 1500 for player in ours[2].players}
    apart = max(abs(ratings[name] - rating) for name, rating in theirs[2].items())
    print(
        f"statsmodels at 100,000 games of 100 bots: {theirs[0]:.2f} s, {theirs[1]:.2f} s of the processor; ours "
        f"{theirs[0] / ours[0]:.0f} times as fast by the clock, {theirs[1] / ours[1]:.0f} times by the processor; "
        f"ratings differ by {apart:.1g} Elo at most"
    )


if __name__ == "__main__":
    main()
