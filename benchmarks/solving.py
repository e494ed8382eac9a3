"""Measure the exact search of Connect Four: in Python and compiled, with and without the opening book.

Positions are random; a winning move is played only if there is no other. Each position is solved completely: value,
distance and all best moves. The times are processor times.
Usage: python benchmarks/solving.py [--positions 1000]

With --compare N it compares N positions of 9 to 41 stones with BitBully, an independent solver in C++, instead: value,
distance and best moves. BitBully searches without a book. It needs `pip install bitbully`, which no extra installs.
Usage: python benchmarks/solving.py --compare 10000
"""

import argparse
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable

from noughts_bots.reference.columns.column_search import ColumnSearch
from noughts_bots.reference.columns.compiled_search import CompiledSearch
from noughts_bots.reference.columns.opening_book import OpeningBook, installed_book
from noughts_bots.reference.exact import Solver
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Position, Variant, parse_variant

CONNECT4 = parse_variant("connect4")
_COMPARED_STONES = range(9, 42)
SEARCHES: dict[str, Callable[[Variant, Effort, OpeningBook | None], ColumnSearch | CompiledSearch]] = {
    "Python": ColumnSearch,
    "compiled": CompiledSearch,
}


def random_position(plies: int, rng: random.Random) -> Position:
    """Return a position without a winner after this number of random moves. A move wins only if all legal moves do."""
    while True:
        position = Position(CONNECT4)
        while position.outcome() is None and position.ply < plies:
            quiet = [cell for cell in position.free if not CONNECT4.completes(position.own | 1 << cell, cell)]
            position.play(rng.choice(quiet or position.free))
        if position.outcome() is None:
            return position


def seconds_of(search: str, book: OpeningBook | None, positions: list[Position]) -> list[float]:
    """Return the processor time of each position, in ascending order."""
    solver = Solver(CONNECT4, Effort(None))
    solver._search = SEARCHES[search](CONNECT4, Effort(None), book)
    times = []
    for position in positions:
        begin = time.process_time()
        solver.solution(position)
        times.append(time.process_time() - begin)
    return sorted(times)


def compare(count: int, seed: int) -> int:
    """Compare this number of positions with BitBully, and return the number of those that differ."""
    from bitbully import BitBully, Board  # type: ignore[import-not-found]

    reference = BitBully(opening_book=None)
    solver = Solver(CONNECT4, Effort(None))
    rng = random.Random(seed)
    differing = 0
    values: Counter[int | None] = Counter()
    for number in range(count):
        stones = _COMPARED_STONES[number % len(_COMPARED_STONES)]
        position = random_position(stones, rng)
        solver.allow(Effort(None))
        verdict = solver.solution(position)
        values[verdict.result] += 1
        scores = reference.score_all_moves(Board([cell % CONNECT4.columns for cell in position.moves]))
        score = max(scores.values())
        best = {column for column, column_score in scores.items() if column_score == score}
        plies = None if score == 0 else _plies(score, stones)
        result = (score > 0) - (score < 0)
        if (verdict.result, verdict.plies, {cell % CONNECT4.columns for cell in verdict.best}) != (result, plies, best):
            differing += 1
            print(f"{position}: {verdict}, BitBully: {scores}", flush=True)
        if (number + 1) % 1_000 == 0:
            print(f"{number + 1} positions compared, {differing} differ", flush=True)
    print(f"{count} positions: {values[1]} wins, {values[0]} draws, {values[-1]} losses; {differing} differ")
    return differing


def _plies(score: int, stones: int) -> int:
    """Return the plies to the end. BitBully's score is one more than the stones that the winner then has left."""
    winner_is_second = (stones % 2 == 1) == (score > 0)
    placed = CONNECT4.cells // 2 + 1 - abs(score)
    return 2 * placed - (0 if winner_is_second else 1) - stones


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the exact search of Connect Four.")
    parser.add_argument("--positions", type=int, default=1_000, help="positions in each row")
    parser.add_argument("--compare", type=int, metavar="N", help="compare N positions with BitBully instead")
    parser.add_argument("--seed", type=int, default=48, help="seed of the compared positions")
    arguments = parser.parse_args()
    if arguments.compare is not None:
        sys.exit(1 if compare(arguments.compare, arguments.seed) else 0)
    number = arguments.positions
    print(f"{'search':10}{'book':6}{'stones':>8}{'positions':>11}{'median ms':>11}{'p99 ms':>9}{'max ms':>9}")
    rows = [  # search, with the book, least and most stones, number of positions
        ("Python", False, 14, 16, number // 10),
        ("Python", False, 12, 16, number // 10),
        ("Python", True, 0, 0, 1),
        ("compiled", False, 12, 16, number),
        ("compiled", False, 8, 11, number // 10),
        ("compiled", True, 0, 0, 1),
        ("compiled", True, 0, 11, number),
        ("compiled", True, 12, 16, number),
    ]
    for search, with_book, least, most, count in rows:
        rng = random.Random(48)
        positions = [random_position(rng.randint(least, most), rng) for _ in range(count)]
        times = seconds_of(search, installed_book() if with_book else None, positions)
        median, p99 = statistics.median(times), times[int(0.99 * (len(times) - 1))]
        print(
            f"{search:10}{'yes' if with_book else 'no':6}{f'{least}-{most}':>8}{count:11}"
            f"{1000 * median:11.2f}{1000 * p99:9.1f}{1000 * times[-1]:9.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
