"""Measure how often the sequential test is wrong and how many games it takes, on simulated pairs of games.

At both limits, the error rates must be at most alpha and beta. The table also shows the figures of the plan. Newton's
method on arrays computes the LLR after every pair of every test; one of them is compared with the server's LLR.
Usage: python benchmarks/sprt.py [--tests 10000] [--elo1 10]
"""

import argparse
import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noughts_server.statistics.sprt import Sprt
from noughts_server.statistics.sprt_plan import TrueStrength, plan

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 60
_AGREES = 1e-6


class PlayedTests(NamedTuple):
    """The results of many tests."""

    accepted: float
    """The share in which H1 was accepted."""
    games: float
    """The mean number of games."""
    games95: float
    """95 % of the tests took at most this number of games."""


def llr_of_many(test: Sprt, counts: Floats) -> Floats:
    """The LLR of the logistic model for each row of counts: Newton's method, kept within limits by bisection."""
    cells = np.where(counts == 0, 0.001, counts)
    total = cells.sum(axis=1, keepdims=True)
    shares = cells / total
    values = np.linspace(0, 1, counts.shape[1])
    heights = []
    for elo in (test.elo0, test.elo1):
        slopes = values - 1 / (1 + 10 ** (-elo / 400))
        up, down = slopes > 0, slopes < 0
        low = ((shares[:, up] - 1) / slopes[up]).max(axis=1, keepdims=True)
        high = ((shares[:, down] - 1) / slopes[down]).min(axis=1, keepdims=True)
        tilt = np.zeros_like(total)
        for _ in range(_MOST_STEPS):
            inner = 1 + tilt * slopes
            mean = (shares * slopes / inner).sum(axis=1, keepdims=True)
            low, high = np.where(mean > 0, tilt, low), np.where(mean > 0, high, tilt)
            step = tilt + mean / (shares * slopes**2 / inner**2).sum(axis=1, keepdims=True)
            new = np.where((step > low) & (step < high), step, (low + high) / 2)
            near = np.max(np.abs(new - tilt)) < 1e-10
            tilt = new
            if near:
                break
        heights.append((cells * -np.log1p(tilt * slopes)).sum(axis=1))
    return np.asarray(heights[1] - heights[0])


def played_out(test: Sprt, truth: TrueStrength, *, tests: int, seed: int) -> PlayedTests:
    """Run this number of tests on pairs of games. Raises RuntimeError if the server's LLR differs."""
    shares = np.array(truth.pair_shares(test.model))
    chance = np.random.default_rng(seed)
    counts = np.zeros((tests, 5))
    accepted, pairs = 0, 0
    ended: list[int] = []
    while len(counts):
        counts[np.arange(len(counts)), chance.choice(5, len(counts), p=shares)] += 1
        pairs += 1
        llr = llr_of_many(test, counts)
        own = test.llr(counts[0].tolist())
        if abs(llr[0] - own) > _AGREES:
            raise RuntimeError(f"{counts[0]}: got {llr[0]}, the server has {own}")
        going = (llr > test.lower) & (llr < test.upper)
        accepted += int((llr >= test.upper).sum())
        ended += [2 * pairs] * int((~going).sum())
        counts = counts[going]
    return PlayedTests(accepted / tests, float(np.mean(ended)), float(np.quantile(ended, 0.95)))


def main() -> None:
    """Print a line for each true strength."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=10_000)
    parser.add_argument("--elo1", type=float, default=10.0)
    arguments = parser.parse_args()
    test = Sprt(0, arguments.elo1)
    print(f"{arguments.tests:,} tests each of {test}, 30 % draws, a first-move advantage of 80 Elo")
    for elo in (0.0, arguments.elo1 / 2, arguments.elo1):
        truth = TrueStrength(elo, draw_rate=0.3, advantage=80)
        began = time.perf_counter()
        found = played_out(test, truth, tests=arguments.tests, seed=1)
        planned = plan(test, truth)
        print(
            f"A stronger by {elo:g}: H1 accepted in {found.accepted:.2%} (planned {planned.pass_probability:.2%}), "
            f"{found.games:,.0f} games on average (planned {planned.expected_games:,.0f}), 95 % within "
            f"{found.games95:,.0f} (planned {planned.games95:,.0f}); {time.perf_counter() - began:.0f} s"
        )


if __name__ == "__main__":
    main()
