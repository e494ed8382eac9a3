"""Measure how often rank intervals contain the true ranks of simulated leagues.

The leagues differ in size, spread of the ratings, ties, draws, first-move advantage and number of games; many have
newcomers with few games, and in some all bots are equal, which is the hardest case for intervals of ranks.
Usage: python benchmarks/ranks.py [--leagues 1000]
"""

import argparse
from collections import Counter
from typing import NamedTuple

import numpy as np

from noughts_server.statistics.batch_fit import fit
from noughts_server.statistics.rank_intervals import rank_intervals
from noughts_server.statistics.rated_games import Floats, Integers, RatedGames, count_columns

KINDS = ("all equal", "tied in classes", "normal", "far apart")


class League(NamedTuple):
    kind: str
    truth: Floats
    """The true ratings."""
    games: RatedGames


class Coverage(NamedTuple):
    kind: str
    covered: int
    """Bots whose true ranks, from the best to the worst of a tie, are in the interval."""
    bots: int
    width: float
    """Mean number of ranks in an interval, as a share of the bots."""


def random_league(seed: int) -> League:
    """Return a random league with 30 games per bot or more on average."""
    rng = np.random.default_rng(seed)
    kind, bots = KINDS[seed % len(KINDS)], int(rng.integers(3, 41))
    truth = {
        "all equal": np.full(bots, 1500.0),
        "tied in classes": 1500 + 100.0 * rng.integers(0, 5, bots),
        "normal": rng.normal(1500, 200, bots),
        "far apart": rng.normal(1500, 500, bots),
    }[kind]
    # Newcomers have a tenth of the games of the others.
    presence = np.where(rng.random(bots) < rng.choice([0.0, 0.3]), 0.1, 1.0)
    number = int(bots * 15 * rng.choice([1, 2, 10]))
    first = rng.choice(bots, number, p=presence / presence.sum())
    second = (first + rng.integers(1, bots, number)) % bots
    lead = truth[first] - truth[second] + rng.choice([0, 60, 200])
    expected = 1 / (1 + 10 ** (-lead / 400))
    half = rng.choice([0.0, 0.3, 0.9]) * np.minimum(expected, 1 - expected)
    at = rng.random(number)
    score = np.where(at < expected - half, 1.0, np.where(at < expected + half, 0.5, 0.0))
    return League(kind, truth, count_columns([f"{place:02}" for place in range(bots)], first, second, score))


def true_ranks(truth: Floats) -> tuple[Integers, Integers]:
    """Return the best and the worst rank of each bot; they differ if it ties."""
    above, below = (truth > truth[:, None]).sum(axis=1), (truth < truth[:, None]).sum(axis=1)
    return 1 + above, len(truth) - below


def coverage(seed: int) -> Coverage:
    """Compare the intervals of one league with the truth."""
    league = random_league(seed)
    low, high = rank_intervals(fit(league.games, prior=True), np.ones(len(league.truth), dtype=bool))
    best, worst = true_ranks(league.truth)
    covered = int(((low <= best) & (worst <= high)).sum())
    return Coverage(league.kind, covered, len(low), float((high - low + 1).mean()) / len(low))


def main() -> None:
    """Print a line for each kind of league, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leagues", type=int, default=1_000, help="number of simulated leagues")
    leagues = [coverage(seed) for seed in range(parser.parse_args().leagues)]
    counts = Counter(league.kind for league in leagues)
    for kind in (*counts, "all"):
        of_kind = [league for league in leagues if kind in (league.kind, "all")]
        whole = sum(league.covered == league.bots for league in of_kind) / len(of_kind)
        bots = sum(league.covered for league in of_kind) / sum(league.bots for league in of_kind)
        width = sum(league.width for league in of_kind) / len(of_kind)
        print(
            f"{kind}: {len(of_kind):,} leagues; all ranks covered in {whole:.1%}, a bot's in {bots:.2%}; "
            f"an interval is {width:.0%} of the ranks wide"
        )


if __name__ == "__main__":
    main()
