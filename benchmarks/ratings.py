"""Measure a batch fit of ratings, compared with statsmodels on the same games in the same run.

Games come from the logistic model. The time includes counting them, the fit with its intervals, and the table.
Usage: python benchmarks/ratings.py [--rounds 3]

With --fits 10000 it checks instead that 10,000 random fits converge: small ones, with distant anchors and with a
prior.
The expected points must be the points scored, and SciPy's L-BFGS-B must find no higher likelihood.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize
from scipy.special import expit

from noughts_server.statistics.batch_fit import BatchFit, fit
from noughts_server.statistics.batch_ratings import BatchRatings, rate
from noughts_server.statistics.rated_games import Floats, count_columns
from noughts_server.statistics.rating_table import AdvantageBound


class RandomGames(NamedTuple):
    """Games: names, and one row per game with the first mover, the second, and the first mover's score."""

    names: list[str]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]


def random_games(bots: int, games: int, seed: int = 1) -> RandomGames:
    """Return random games: ratings vary by 200, the first-move advantage is 60, and equal bots draw a fifth of their
    games."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 200, bots)
    first = rng.integers(0, bots, games)
    second = (first + rng.integers(1, bots, games)) % bots
    expected = 1 / (1 + 10 ** (-(strength[first] - strength[second] + 60) / 400))
    half = 0.2 * np.minimum(expected, 1 - expected)
    at = rng.random(games)
    score = np.where(at < expected - half, 1.0, np.where(at < expected + half, 0.5, 0.0))
    return RandomGames([f"bot{number:05}" for number in range(bots)], first, second, score)


def fit_by_noughts(games: RandomGames) -> BatchRatings:
    """Run the fit of Noughts, from rows to the table."""
    return rate(count_columns(*games))


def fit_by_statsmodels(games: RandomGames) -> dict[str, float]:
    """Fit a generalised linear model with a row for each game. Return the ratings in Elo above their mean."""
    import statsmodels.api as sm

    rows = np.arange(len(games.first))
    design = np.zeros((len(rows), len(games.names)))
    design[rows, games.first] += 1
    design[rows, games.second] -= 1
    design[:, 0] = 1  # the first bot is the reference; its column is the advantage's
    model = sm.GLM(games.score, design, family=sm.families.Binomial()).fit(cov_type="HC0")
    ratings = np.concatenate(([0.0], model.params[1:])) * 400 / math.log(10)
    return dict(zip(games.names, ratings - ratings.mean(), strict=True))


class Convergence(NamedTuple):
    """The distance of a fit from the maximum."""

    surplus: float
    """The largest difference between points and expected points of a free player, as a share of all games."""
    deficit: float
    """The relative difference to SciPy's log-likelihood; positive if SciPy's is higher."""
    apart: float
    """The largest difference to SciPy's ratings in Elo; 0 if the games hardly determine the ratings."""


def random_fit(seed: int) -> Convergence:
    """Fit a few random games of two to six bots. Some are anchors, mostly up to 3,000 Elo from the mean."""
    rng = np.random.default_rng(seed)
    bots, prior = int(rng.integers(2, 7)), bool(rng.random() < 0.5)
    number = int(rng.integers(1, 60))
    first = rng.integers(0, bots, number)
    second = (first + rng.integers(1, bots, number)) % bots
    score = rng.choice([1.0, 0.5, 0.0], number)
    times = np.where(rng.random(number) < 0.2, rng.integers(1, 1_000, number), 1).astype(np.float64)
    names = [f"bot{place}" for place in range(bots)]
    games = count_columns(names, first, second, score, times)
    spread = 100_000 if rng.random() < 0.05 else 3_000
    anchors = {name: float(1500 + rng.uniform(-spread, spread)) for name in names if rng.random() < 0.4}
    rate(games, anchors=anchors, prior=prior)  # the table must not raise an error either
    return _convergence(fit(games, anchors=anchors, prior=prior))


def _convergence(found: BatchFit) -> Convergence:
    """Compare a fit with the likelihood written as a generalised linear model: a row of the design for each pair."""
    games, bots = found.games, len(found.games.players)
    comparable = np.flatnonzero(found.prior | (found.groups[games.first] == found.groups[games.second]))
    first, second = games.first[comparable], games.second[comparable]
    points, played = (games.wins + games.draws / 2)[comparable], games.games[comparable]
    strength = np.append(np.nan_to_num(found.ratings), 0.0) * math.log(10) / 400
    free = np.append(~found.fixed, found.prior)
    if found.prior:
        # The prior is one more bot, whose rating is unknown. Each bot has a draw against it with either side.
        everyone, pool, once = np.arange(bots), np.full(bots, bots), np.ones(bots)
        first, second = np.concatenate((first, everyone, pool)), np.concatenate((second, pool, everyone))
        points, played = np.concatenate((points, once / 2, once / 2)), np.concatenate((played, once, once))
    design = np.zeros((len(first), bots + 2))
    rows = np.arange(len(first))
    design[rows, first] += 1
    design[rows, second] -= 1
    design[:, -1] = found.bound is AdvantageBound.FINITE
    if not len(rows):
        return Convergence(0.0, 0.0, 0.0)
    at = np.append(strength, found.advantage * math.log(10) / 400)
    if found.prior:
        ends = at[:bots].min() - 50, at[:bots].max() + 50
        at[bots] = brentq(
            lambda place: float(np.sum(expit(place - at[:bots] + at[-1]) - expit(at[:bots] - place + at[-1]))), *ends
        )
    columns = np.flatnonzero(np.append(free, True) & design.any(axis=0))
    held = at.copy()
    held[columns] = 0.0
    offset, inner = design @ held, design[:, columns]

    def log_likelihood(sought: Floats) -> float:
        lead = offset + inner @ sought
        return float(np.sum(points * lead - played * np.logaddexp(0.0, lead)))

    def gradient(sought: Floats) -> Floats:
        return np.asarray(inner.T @ (points - played * expit(offset + inner @ sought)))

    ours = at[columns]
    if not len(columns):
        return Convergence(0.0, 0.0, 0.0)
    theirs: Any = minimize(  # type: ignore[call-overload]  # its stubs know no such options
        lambda sought: -log_likelihood(sought),
        np.full(len(columns), float(at[:bots].mean())) * (columns < bots + 1),
        jac=lambda sought: -gradient(sought),
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 1_000, "maxfun": 3_000},
    )
    # A direction that shifts all ratings alike changes nothing, so only leads are compared.
    leads = np.abs(inner @ (ours - theirs.x))
    expected = expit(offset + inner @ ours)
    determined = bool(np.min(expected * (1 - expected)) > 1e-3)
    return Convergence(
        surplus=float(np.max(np.abs(gradient(ours))) / played.sum()),
        deficit=(log_likelihood(theirs.x) - log_likelihood(ours)) / (1 + abs(log_likelihood(ours))),
        apart=float(leads.max() * 400 / math.log(10)) if determined else 0.0,
    )


def run_timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall time and processor time in seconds, and the result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - clock, time.process_time() - processor, result


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="number of runs; the best one counts")
    parser.add_argument("--fits", type=int, help="check that this number of random fits converge")
    arguments = parser.parse_args()
    if arguments.fits:
        worst = Convergence(*map(max, zip(*map(random_fit, range(arguments.fits)), strict=True)))
        print(f"{arguments.fits:,} fits; the worst: {worst}")
        return
    rounds = arguments.rounds
    for bots, number in ((30, 10_000), (100, 100_000), (1_000, 1_000_000), (2_000, 1_000_000)):
        games = random_games(bots, number)
        runs = [run_timed(lambda games=games: fit_by_noughts(games)) for _ in range(rounds)]  # type: ignore[misc]
        clock, processor = min(run[0] for run in runs), min(run[1] for run in runs)
        print(f"{number:>9,} games of {bots:>5,} bots: {clock:.3f} s, {processor:.3f} s of the processor")
    games = random_games(100, 100_000)
    ours = min((run_timed(lambda: fit_by_noughts(games)) for _ in range(rounds)), key=lambda run: run[1])
    warnings.simplefilter("ignore")  # of statsmodels, about fractional responses
    theirs = run_timed(lambda: fit_by_statsmodels(games))
    ratings = {player.name: (player.rating or math.nan) - 1500 for player in ours[2].players}
    apart = max(abs(ratings[name] - rating) for name, rating in theirs[2].items())
    print(
        f"statsmodels at 100,000 games of 100 bots: {theirs[0]:.2f} s, {theirs[1]:.2f} s of the processor; ours "
        f"{theirs[0] / ours[0]:.0f} times as fast by the clock, {theirs[1] / ours[1]:.0f} times by the processor; "
        f"ratings differ by {apart:.1g} Elo at most"
    )


if __name__ == "__main__":
    main()
