"""Measure how often the sequential tests are wrong and how many games they take, on simulated pairs of games.

One test: at both limits, the error rates must be at most alpha and beta, with a tolerance of three standard errors;
if not, the exit code is 1. Every pair goes through the server's own evaluation (`MatchGames` and `Sprt`). The output
also has the figures of the plan.

Five candidates against one base (`Candidates`): the same games are also judged by five independent SPRTs with the same
error rates. Newton's method on arrays computes the LLR after every pair; some tests are compared with the server's.
Usage: python benchmarks/sprt.py [--tests 10000] [--candidate-tests 2000] [--elo1 40] [--processes 2]
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noughts_server.statistics.candidates import STEP, Candidates, pairs_ahead
from noughts_server.statistics.match_games import MatchGame, MatchGames
from noughts_server.statistics.sprt import Decision, Sprt
from noughts_server.statistics.sprt_plan import TrueStrength, plan

Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int64]

_MOST_STEPS = 60
_TOLERANCE = 1e-6
"""Largest difference of log-likelihood ratios of two implementations."""
_CHUNK = 500
"""Tests that are simulated at once."""
_CHECKED_TESTS = 5
"""Tests of each scenario that the server's evaluation repeats."""
_CANDIDATES = 5
_PAIRS = [(0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (1.0, 0.5), (1.0, 1.0)]
"""The points of two games for each result of a pair."""
SCENARIOS: dict[str, list[float] | None] = {
    "all equal to the base": [0, 0, 0, 0, 0],
    "all worse by elo1": [-1, -1, -1, -1, -1],
    "one better by elo1, four equal": [1, 0, 0, 0, 0],
    "one better by elo1, four worse by elo1": [1, -1, -1, -1, -1],
    "+elo1, +elo1/2, 0, -elo1/2, -elo1": [1, 0.5, 0, -0.5, -1],
    "two better by elo1, three equal": [1, 1, 0, 0, 0],
    "one better by 2 elo1, four equal": [2, 0, 0, 0, 0],
    "all better by elo1": [1, 1, 1, 1, 1],
    "random: normal, deviation elo1": None,
}
"""The superiority of the five candidates to the base, in units of elo1."""


class PlayedTests(NamedTuple):
    """The results of many tests."""

    accepted: float
    """The share in which H1 was accepted."""
    games: float
    """The mean number of games."""
    games95: float
    """95 % of the tests took at most this number of games."""


class CandidateTests(NamedTuple):
    """The results of many tests of five candidates, all run in the same way."""

    games: float
    """The mean number of games of all candidates."""
    false: float
    """The share of tests that accepted a candidate that is not better than the base."""
    missed: float
    """The share of tests that accepted none, of those with a candidate that is better by elo1; NaN without any."""


def llr_of_many(test: Sprt, counts: Floats) -> Floats:
    """Return the LLR of the logistic model for each row of counts, by Newton's method with bisection as its limit."""
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


def courses(test: Sprt, shares: Floats, *, seed: int) -> Iterator[tuple[Cells, Cells, Floats]]:
    """Play tests, one for each row of shares, until each is decided.

    Yield for each pair the undecided tests, the results of their pairs and their LLRs. Raise RuntimeError if the
    server's LLR differs.
    """
    rng = np.random.default_rng(seed)
    limits = np.cumsum(shares, axis=1)[:, :-1]
    counts, going = np.zeros(shares.shape), np.arange(len(shares))
    while len(going):
        cells = (rng.random((len(going), 1)) > limits[going]).sum(axis=1)
        counts[np.arange(len(going)), cells] += 1
        llr = llr_of_many(test, counts)
        own = test.llr(counts[0].tolist())
        if abs(llr[0] - own) > _TOLERANCE:
            raise RuntimeError(f"{counts[0]}: got {llr[0]}, the server has {own}")
        yield going, cells, llr
        open_still = (llr > test.lower) & (llr < test.upper)
        going, counts = going[open_still], counts[open_still]


def played_out(test: Sprt, truth: TrueStrength, *, tests: int, seed: int) -> PlayedTests:
    """Run this number of tests on arrays."""
    last, pairs = np.zeros(tests), np.zeros(tests)
    for going, _, llr in courses(test, np.tile(truth.pair_shares(test.model), (tests, 1)), seed=seed):
        last[going] = llr
        pairs[going] += 1
    return PlayedTests(float((last >= test.upper).mean()), 2 * float(pairs.mean()), 2 * float(np.quantile(pairs, 0.95)))


def games_of(cells: Sequence[int], first_pair: int = 0) -> dict[int, MatchGame]:
    """Return the games of pairs with these results, by slot."""
    slots = count(2 * first_pair + 1)
    return {next(slots): MatchGame(points) for cell in cells for points in _PAIRS[cell]}


def run_on_server(test: Sprt, truth: TrueStrength, *, tests: int, seed: Sequence[int]) -> list[tuple[bool, int]]:
    """Run this number of tests through the server's evaluation; return whether each accepts H1, and its games."""
    rng = np.random.default_rng(seed)
    shares = truth.pair_shares(test.model)
    ended = []
    for _ in range(tests):
        match = MatchGames(test)
        for block in count():
            match.add(games_of(rng.choice(5, 32, p=shares).tolist(), 32 * block))
            if match.over:
                break
        assert match.state is not None
        ended.append((match.state.decision is Decision.H1, match.known))
    return ended


def together(test: Sprt, llrs: Sequence[Sequence[float]], ahead: int, step: int) -> tuple[int | None, list[int]]:
    """Return the candidate that `Candidates` accepts, and its schedule, from the course of each candidate's own test.

    After each `step` counted pairs, pairs are scheduled until there are `ahead` more than counted ones.
    """
    going, schedule, now = set(range(len(llrs))), list[int](), [0.0] * len(llrs)
    played, scheduled = [0] * len(llrs), [0] * len(llrs)
    for counted in count():
        while counted % step == 0 and len(schedule) < counted + ahead:
            # Rounded, so that equal counts have equal LLRs on arrays as well.
            leader = min(going, key=lambda each: (round(-now[each], 9), scheduled[each], each))
            schedule.append(leader)
            scheduled[leader] += 1
        number = schedule[counted]
        if number in going:
            now[number] = llrs[number][played[number]]
            played[number] += 1
            if now[number] <= test.lower:
                going.remove(number)
            if now[number] >= test.upper or not going:
                return number if going else None, schedule[: counted + 1]
    raise AssertionError("endless")


def compare_ways(whole: Sprt, elos: Floats, *, draw_rate: float, advantage: float, seed: int) -> list[CandidateTests]:
    """Test the candidates of each row independently, together one pair after the other, and as servers do.

    Raise RuntimeError if the server decides otherwise.
    """
    tests, number = elos.shape
    each = replace(whole, alpha=whole.alpha / number)
    known = {elo: TrueStrength(elo, draw_rate, advantage).pair_shares(each.model) for elo in np.unique(elos).tolist()}
    steps = list(courses(each, np.array([known[elo] for elo in elos.ravel().tolist()]), seed=seed))
    order = np.argsort(np.concatenate([going for going, _, _ in steps]), kind="stable")
    ends = np.cumsum(np.bincount(np.concatenate([going for going, _, _ in steps])))[:-1]
    cells = np.split(np.concatenate([cells for _, cells, _ in steps])[order], ends)
    llrs = [course.tolist() for course in np.split(np.concatenate([llr for _, _, llr in steps])[order], ends)]
    independent = np.array([course[-1] >= each.upper for course in llrs]).reshape(elos.shape)
    ways = [(1, 1), (pairs_ahead(each), STEP)]
    chosen, pairs = [np.zeros(elos.shape, dtype=bool) for _ in ways], [0 for _ in ways]
    for row in range(tests):
        own = slice(row * number, (row + 1) * number)
        for way, (ahead, step) in enumerate(ways):
            accepted, schedule = together(each, llrs[own], ahead, step)
            pairs[way] += len(schedule)
            if accepted is not None:
                chosen[way][row, accepted] = True
        if row < _CHECKED_TESTS:
            server, courses_left = Candidates(whole, number, 10**6), list(map(iter, cells[own]))
            while not server.over:
                # Games of a candidate that is out do not count, whatever their results.
                result = int(next(courses_left[server.schedule[server.known // 2]], 0))
                server.add(games_of([result], server.known // 2))
            if (server.accepted, server.schedule[: server.known // 2]) != (accepted, schedule):
                raise RuntimeError(f"test {row}: the server decides otherwise")
    has_better = (elos >= whole.elo1).any(axis=1)

    def summary(accepts: npt.NDArray[np.bool_], all_pairs: int) -> CandidateTests:
        false = float((accepts & (elos <= whole.elo0)).any(axis=1).mean())
        missed = float(1 - np.mean(accepts[has_better].any(axis=1))) if has_better.any() else math.nan
        return CandidateTests(2 * all_pairs / tests, false, missed)

    return [summary(independent, sum(map(len, llrs))), *map(summary, chosen, pairs)]


def scenario_elos(name: str, elo1: float, tests: int) -> Floats:
    """Return the true superiority of each candidate (column) in each test (row)."""
    units = SCENARIOS[name]
    if units is not None:
        return np.tile(np.array(units, dtype=float) * elo1, (tests, 1))
    return np.random.default_rng(7).normal(0, 1, (tests, _CANDIDATES)).round(1) * elo1


def percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.1%}"


def main() -> None:
    """Print a table of single tests and one of tests of five candidates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=10_000, help="single tests at each strength")
    parser.add_argument("--candidate-tests", type=int, default=2_000, help="tests of five candidates in each scenario")
    parser.add_argument("--elo1", type=float, default=40.0)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    test, draw_rate, advantage = Sprt(0, arguments.elo1), 0.3, 80.0
    began, failed = time.perf_counter(), list[str]()

    def print_progress(done: str) -> None:
        print(f"{time.perf_counter() - began:.0f} s: {done}", file=sys.stderr, flush=True)

    with ProcessPoolExecutor(arguments.processes) as pool:
        print(f"{arguments.tests:,} tests each of {test}, 30 % draws, a first-move advantage of 80 Elo")
        sizes = [min(_CHUNK, arguments.tests - start) for start in range(0, arguments.tests, _CHUNK)]
        truths = [TrueStrength(elo, draw_rate, advantage) for elo in (test.elo0, test.elo1)]
        chunks = [
            [pool.submit(run_on_server, test, truth, tests=size, seed=[1, part]) for part, size in enumerate(sizes)]
            for truth in truths
        ]
        runs = {
            name: pool.submit(
                compare_ways,
                test,
                scenario_elos(name, test.elo1, arguments.candidate_tests),
                draw_rate=draw_rate,
                advantage=advantage,
                seed=1,
            )
            for name in SCENARIOS
        }
        for truth, futures in zip(truths, chunks, strict=True):
            ended: list[tuple[bool, int]] = []
            for future in futures:
                ended += future.result()
                print_progress(f"{len(ended):,} tests with A stronger by {truth.elo:g}")
            games, planned = [games for _, games in ended], plan(test, truth)
            accepted = float(np.mean([accepted for accepted, _ in ended]))
            wrong, stated = (accepted, test.alpha) if truth.elo == test.elo0 else (1 - accepted, test.beta)
            if wrong > stated + 3 * math.sqrt(stated * (1 - stated) / len(ended)):
                failed.append(f"{wrong:.2%} of the tests with A stronger by {truth.elo:g} are wrong, not {stated:.0%}")
            print(
                f"A stronger by {truth.elo:g}: H1 accepted in {accepted:.2%} "
                f"(planned {planned.pass_probability:.2%}), {np.mean(games):,.0f} games on average (planned "
                f"{planned.expected_games:,.0f}), 95 % within {np.quantile(games, 0.95):,.0f} (planned "
                f"{planned.games95:,.0f})"
            )
        print(f"\n{arguments.candidate_tests:,} tests of {_CANDIDATES} candidates in each scenario, {test}")
        print("| candidates | games, independent | games, one by one | games, as servers do | ratio | false | missed |")
        print("|---|---|---|---|---|---|---|")
        for name, run in runs.items():
            apart, single, joint = run.result()
            false = f"{percent(apart.false)}, {percent(joint.false)}"
            missed = f"{percent(apart.missed)}, {percent(joint.missed)}"
            print(
                f"| {name} | {apart.games:,.0f} | {single.games:,.0f} | {joint.games:,.0f} "
                f"| {joint.games / apart.games:.2f} | {false} | {missed} |",
                flush=True,
            )
            print_progress(name)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
