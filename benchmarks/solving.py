"""Measure the exact search of Connect Four: in Python and compiled, with and without the opening book.

Positions are random; a winning move is played only if there is no other. Each position is solved completely: value,
distance and all best moves. The times are processor times.
Usage: python benchmarks/solving.py [--positions 1000]
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable

from noughts_bots.reference.columns.column_search import ColumnSearch
from noughts_bots.reference.columns.compiled_search import CompiledSearch
from noughts_bots.reference.columns.opening_book import OpeningBook, installed_book
from noughts_bots.reference.exact import Solver
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Position, Variant, parse_variant

CONNECT4 = parse_variant("connect4")
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


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the exact search of Connect Four.")
    parser.add_argument("--positions", type=int, default=1_000, help="positions in each row")
    number = parser.parse_args().positions
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
