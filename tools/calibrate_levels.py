"""Choose and measure the levels of the bot `level`: `python tools/calibrate_levels.py [VARIANT ...]`.

1. Survey: for each depth of the search, measure how the rating falls with the size of the random errors.
2. Choice: for each 100 Elo, the shallowest search that is strong enough, with the errors that weaken it to this rating.
3. Measurement: neighbours play each other. If they are not 100 Elo apart, other errors are chosen and measured.

The results of all games are kept in a file, so that an interrupted run resumes. The script prints the table of each
variant, and writes it to `levels.json`, where the bot reads it. Elo here is that of the score of both sides together:
at 100 Elo, the stronger one gets 64 % of the points.
"""

import argparse
import itertools
import json
import math
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from noughts_bots.reference.levels.search import NoisySearch, Strength
from noughts_bots.reference.levels.table import FILE
from noughts_referee.rules import game_seed, parse_variant, side_seed

_SOURCE = Path(__file__).with_name("level_games.c")
"""The games are played by a program with the same search, in a fraction of the time."""
_LOWEST, _STEP, _MOST_LEVELS = 1_000, 100, 20
_AT_RANDOM = Strength(depth=1, error=1_000_000)
"""The lowest level: its errors are so large that it plays at random."""
_LEAST_ERROR = 12
"""The errors of each level are at least this large, so that it does not repeat its games."""
_BATCH = 100
"""Games that a process plays at once."""
_MARGIN = 30.0
"""Elo by which a level is weaker than the best that its depth can do: near that, errors hardly change the strength."""
_ROUNDS = 16
"""Measurements after which levels are no longer changed."""
_TOLERANCE = 12.0
"""Elo by which a measured step can differ from 100 before other errors are chosen."""

_SURVEYS = {
    "tictactoe": {1: 8192, 2: 4096, 4: 4096, 6: 4096},
    "connect4": {1: 8192, 2: 1024, 3: 1024, 4: 512, 5: 256, 6: 128},
    "gomoku": {1: 65536, 2: 1024, 3: 512, 4: 256},
    "qubic": {1: 65536, 2: 1024, 3: 1024, 4: 512, 5: 256},
}
"""By variant and depth: the largest errors that are measured. They shrink by the factor `_RATIO` to `_LEAST_ERROR`."""
_RATIO = 2.0


class _Pair(NamedTuple):
    variant: str
    weak: Strength
    strong: Strength


class _Tally(NamedTuple):
    """The results of games of a pair, from the point of view of the strong one: wins, draws and losses."""

    began: tuple[int, int, int]
    """Those of the games that the strong one began."""
    followed: tuple[int, int, int]


class _StepSize(NamedTuple):
    """By how much the strong one of a pair is stronger."""

    elo: float
    error95: float
    games: int


class _Results:
    """The results of all games, kept in a file with a line for each batch."""

    def __init__(self, file: Path, threads: int, folder: str) -> None:
        self._file = file
        self._threads = threads
        self._player = cache(partial(Player, folder=folder))
        self._tallies: dict[_Pair, dict[int, _Tally]] = {}
        if file.exists():
            for line in file.read_text().splitlines():
                row = json.loads(line)
                pair = _Pair(row["variant"], Strength(*row["weak"]), Strength(*row["strong"]))
                self._tallies.setdefault(pair, {})[row["batch"]] = _Tally(tuple(row["began"]), tuple(row["followed"]))

    def play(self, pairs: Iterable[_Pair], games: int) -> None:
        """Play what each pair misses to this number of games."""
        batches = range(math.ceil(games / _BATCH))
        missing = [(pair, batch) for pair in pairs for batch in batches if batch not in self._tallies.get(pair, {})]
        if not missing:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        for variant in {pair.variant for pair, _ in missing}:
            self._player(variant)

        def play(task: tuple[_Pair, int]) -> tuple[_Pair, int, _Tally]:
            pair, batch = task
            return pair, batch, self._player(pair.variant).batch(pair, batch)

        with ThreadPoolExecutor(self._threads) as pool, self._file.open("a") as file:
            for pair, batch, tally in pool.map(play, missing):
                self._tallies.setdefault(pair, {})[batch] = tally
                file.write(json.dumps({**pair._asdict(), "batch": batch, **tally._asdict()}) + "\n")
                file.flush()

    def pairs(self, variant: str) -> list[_Pair]:
        """Return all pairs with results, also those of earlier runs."""
        return [pair for pair in self._tallies if pair.variant == variant and pair.weak != pair.strong]

    def step(self, pair: _Pair) -> _StepSize:
        points = variance = 0.0
        games = 0
        for tallies in zip(*self._tallies[pair].values(), strict=True):
            # The two sides have different means, so that each has its own variance.
            wins, draws, losses = (sum(counts) for counts in zip(*tallies, strict=True))
            number = wins + draws + losses
            mean = (wins + draws / 2) / number
            points += wins + draws / 2
            variance += number * ((wins + draws / 4) / number - mean**2)
            games += number
        # Half a point for and against keeps the difference finite.
        share = (points + 0.5) / (games + 1)
        slope = 400 / math.log(10) / (share * (1 - share))
        deviation = math.sqrt(variance + 0.25) / games
        return _StepSize(400 * math.log10(share / (1 - share)), 1.96 * deviation * slope, games)


class Player:
    """The program that plays games of a variant, compiled in a temporary folder."""

    def __init__(self, variant: str, folder: str, compiler: Sequence[str] = ("cc",)) -> None:
        self._variant = parse_variant(variant)
        self._program = f"{folder}/{variant}"
        search = NoisySearch(self._variant)
        sizes = {"CELLS": self._variant.cells, "LINES": len(self._variant.lines), "LENGTH": search.length}
        macros = [f"-D{name}={value}" for name, value in sizes.items()]
        command = (*compiler, "-O3", "-march=native", *macros, "-o", self._program, str(_SOURCE))
        subprocess.run(command, check=True)
        cells = itertools.chain(*self._variant.line_cells)
        self._rules = " ".join(map(str, (*search.rules, *cells)))

    def games(self, lines: Iterable[str]) -> Iterator[list[int]]:
        """Yield the moves of each game; its line has the depth and error of each side, and both seeds."""
        text = "\n".join((self._rules, *lines, ""))
        ended = subprocess.run([self._program], input=text, capture_output=True, text=True, check=True)
        for line in ended.stdout.splitlines():
            yield [int(cell) for cell in line.split()]

    def batch(self, pair: _Pair, batch: int) -> _Tally:
        """Play a batch of games; the sides alternate. The seeds follow from the pair and the number of the batch."""
        seed = int.from_bytes(blake2b(repr((pair, batch)).encode(), digest_size=8).digest())
        games = [game_seed(seed, number) for number in range(_BATCH)]
        orders = ((pair.strong, pair.weak), (pair.weak, pair.strong))
        lines = [
            " ".join(map(str, (*first, *second, side_seed(game, 0), side_seed(game, 1))))
            for game, (first, second) in zip(games, itertools.cycle(orders))
        ]
        began, followed = [0, 0, 0], [0, 0, 0]
        for number, moves in enumerate(self.games(lines)):
            winner = (len(moves) - 1) % 2 if self._variant.won_with(moves) else None
            strong_side = number % 2
            counts = followed if strong_side else began
            counts[1 if winner is None else 0 if winner == strong_side else 2] += 1
        return _Tally((began[0], began[1], began[2]), (followed[0], followed[1], followed[2]))


class _Survey:
    """For each depth, how the rating rises when the errors fall. Each measurement makes it more exact."""

    def __init__(self, variant: str, results: _Results, games: int) -> None:
        self._results = results
        largest = _SURVEYS[variant]
        grid = {depth: _errors(largest[depth]) for depth in largest}
        pairs = [_Pair(variant, _AT_RANDOM, Strength(1, grid[1][0]))]
        for depth, errors in grid.items():
            pairs += [_Pair(variant, Strength(depth, one), Strength(depth, two)) for one, two in pairwise(errors)]
        for shallow, deep in pairwise(grid):
            pairs += [_Pair(variant, Strength(shallow, error), Strength(deep, error)) for error in grid[deep][::2]]
        results.play(pairs, games)
        self._pairs: dict[_Pair, None] = {}
        self.ratings: dict[Strength, float] = {}
        self._curves: dict[int, tuple[list[float], list[float]]] = {}
        """For each depth, ascending ratings and the logarithms of the errors."""
        earlier = results.pairs(variant)
        self.add([*pairs, *(pair for pair in earlier if pair.weak.depth in grid and pair.strong.depth in grid)])
        reached = {depth: round(curve[0][-1]) for depth, curve in self._curves.items()}
        print(f"{variant}: the best of each depth in the survey: {reached}", flush=True)

    def add(self, pairs: Iterable[_Pair]) -> None:
        """Add pairs with results."""
        self._pairs.update(dict.fromkeys(pair for pair in pairs if pair.weak != pair.strong))
        self.ratings = _fitted(list(self._pairs), self._results)
        games: Counter[Strength] = Counter()
        for pair in self._pairs:
            for strength in pair[1:]:
                games[strength] += self._results.step(pair).games
        for depth in sorted({strength.depth for strength in self.ratings}):
            strengths = sorted((each for each in self.ratings if each.depth == depth), key=lambda each: -each.error)
            ratings = _ascending([self.ratings[each] for each in strengths], [games[each] for each in strengths])
            self._curves[depth] = ratings, [math.log2(each.error) for each in strengths]

    def strength(self, rating: float, least_depth: int = 1) -> Strength | None:
        """Return the shallowest search with about this rating; None if no search is so strong."""
        for depth, (ratings, logarithms) in self._curves.items():
            if depth >= least_depth and rating <= ratings[-1] - (_MARGIN if depth < max(self._curves) else 0.0):
                return Strength(depth, round(2 ** float(np.interp(rating, ratings, logarithms))))
        return None


def _errors(largest: int) -> list[int]:
    """Return the sizes of errors of a survey, which fall."""
    number = math.ceil(math.log(largest / _LEAST_ERROR, _RATIO))
    return [*(round(largest / _RATIO**place) for place in range(number)), _LEAST_ERROR]


def _fitted(pairs: list[_Pair], results: _Results) -> dict[Strength, float]:
    """Return the ratings that fit the steps of all pairs best (weighted least squares)."""
    strengths = list(dict.fromkeys(strength for pair in pairs for strength in pair[1:]))
    place = {strength: number for number, strength in enumerate(strengths)}
    rows, values = np.zeros((len(pairs) + 1, len(strengths))), np.zeros(len(pairs) + 1)
    for number, pair in enumerate(pairs):
        step = results.step(pair)
        rows[number, place[pair.strong]] = 1 / step.error95
        rows[number, place[pair.weak]] = -1 / step.error95
        values[number] = step.elo / step.error95
    rows[-1, place[_AT_RANDOM]], values[-1] = 1.0, _LOWEST
    fitted = np.linalg.lstsq(rows, values, rcond=None)[0]
    return {strength: float(rating) for strength, rating in zip(strengths, fitted, strict=True)}


def _ascending(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the nearest ascending values: neighbours in the wrong order get their weighted mean."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (one, one_weight, one_number), (two, two_weight, two_number) = blocks[-2:]
            total = one_weight + two_weight
            blocks[-2:] = [((one * one_weight + two * two_weight) / total, total, one_number + two_number)]
    return [value for value, _, number in blocks for _ in range(number)]


@dataclass(slots=True)
class _Level:
    elo: int
    strength: Strength


def _calibrate(variant: str, results: _Results, survey_games: int, games: int) -> list[dict[str, object]]:
    """Return the rows of the table of a variant."""
    survey = _Survey(variant, results, survey_games)
    levels = [_Level(_LOWEST, _AT_RANDOM)]
    for number in range(1, _MOST_LEVELS):
        rating = _LOWEST + number * _STEP
        if strength := survey.strength(rating):
            levels.append(_Level(rating, strength))
    for measurement in range(1, _ROUNDS + 1):
        pairs = [_Pair(variant, below.strength, level.strength) for below, level in pairwise(levels)]
        # The first measurements need not be as exact as the last ones.
        enough = min(games, measurement * games // 3)
        results.play(pairs, enough)
        survey.add(pairs)
        steps = [results.step(pair) for pair in pairs]
        _show(variant, levels, steps)
        if measurement == _ROUNDS or (not _changed(levels, survey, steps) and enough == games):
            return _rows(levels, steps)
    raise AssertionError


def _changed(levels: list[_Level], survey: _Survey, steps: list[_StepSize]) -> bool:
    """Choose other strengths for levels that are not 100 Elo above the one below. Return whether any changed."""
    changed = False
    rating = float(_LOWEST)
    for level, step in zip(levels[1:], steps, strict=True):
        wanted = rating + _STEP
        rating = survey.ratings[level.strength]
        is_kept = abs(rating - wanted) <= _TOLERANCE and (changed or abs(step.elo - _STEP) <= _TOLERANCE)
        if not is_kept:
            # The curves of two depths do not fit together exactly, so a level that changed to and fro would not settle.
            strength = survey.strength(wanted, level.strength.depth)
            if strength is None:
                del levels[levels.index(level) :]
                return True
            changed |= strength != level.strength
            level.strength = strength
            rating = wanted
    return changed


def _rows(levels: list[_Level], steps: list[_StepSize]) -> list[dict[str, object]]:
    rating = float(_LOWEST)
    rows: list[dict[str, object]] = []
    for level, step in zip(levels, [None, *steps], strict=True):
        rating += step.elo if step else 0.0
        rows.append(
            {
                "elo": level.elo,
                "depth": level.strength.depth,
                "error": level.strength.error,
                "rating": round(rating),
                "step": round(step.elo, 1) if step else None,
                "error95": round(step.error95, 1) if step else None,
                "games": step.games if step else 0,
            }
        )
    return rows


def _show(variant: str, levels: list[_Level], steps: list[_StepSize]) -> None:
    print(f"{variant}\n elo  depth    error  rating  step     games")
    for row in _rows(levels, steps):
        step = f"{row['step']:>5} ± {row['error95']}" if row["games"] else ""
        print(f"{row['elo']:>5} {row['depth']:>4} {row['error']:>9} {row['rating']:>7} {step:>13} {row['games']:>6}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", default=list(_SURVEYS), metavar="VARIANT")
    parser.add_argument("--games", type=int, default=2_400, help="games of each pair of neighbours")
    parser.add_argument("--survey-games", type=int, default=400, help="games of each pair of the survey")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="games at the same time")
    parser.add_argument("--results", type=Path, default=Path("build/levels.jsonl"))
    arguments = parser.parse_args()
    file = Path(str(FILE))
    with tempfile.TemporaryDirectory() as folder:
        results = _Results(arguments.results, arguments.processes, folder)
        for variant in arguments.variants:
            began = time.monotonic()
            rows = _calibrate(variant, results, arguments.survey_games, arguments.games)
            tables = json.loads(file.read_text()) if file.exists() else {}
            tables[variant] = rows
            _write(file, tables)
            print(f"{variant}: {time.monotonic() - began:.0f} s", flush=True)


def _write(file: Path, tables: dict[str, list[dict[str, object]]]) -> None:
    """Write the tables, with a line for each level."""
    parts = [
        f' "{variant}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
        for variant, rows in sorted(tables.items(), key=lambda item: list(_SURVEYS).index(item[0]))
    ]
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
