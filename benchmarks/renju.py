"""Compares the rules of renju and caro with the slow ones of the tests on many dense boards, and times both.

    .venv/bin/python benchmarks/renju.py --positions 100000

A board has up to eight points that are asked about. Ends with status 1 at the first difference, and prints the board.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from noughts_referee.rules import Variant, parse_variant
from tests.support.dense_boards import positions
from tests.support.five_in_a_row import Point, Stones, kinds, makes_five, wins

_CARO = {"gomoku:exact": (True, False), "caro": (False, True), "caro:exact": (True, True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--edge", type=int, choices=(15, 20), default=15)
    arguments = parser.parse_args()
    suffix = "" if arguments.edge == 15 else ":20"
    renju = parse_variant(f"renju{suffix}")
    others = {parse_variant(name + suffix): rules for name, rules in _CARO.items()}
    counts: Counter[str] = Counter()
    seconds = {"quick": 0.0, "slow": 0.0}
    for board, points in positions(arguments.positions, arguments.seed, arguments.edge):
        for point in points:
            counts["points"] += 1
            _compare_renju(renju, board, point, counts, seconds)
            for variant, (exact, caro) in others.items():
                _compare_wins(variant, board, point, wins(board, point, exact=exact, caro=caro))
    print(f"{arguments.positions:,} boards, {counts.pop('points'):,} points, no difference")
    for what, count in sorted(counts.items()):
        print(f"  {what:<44}{count:>10,}")
    for what, took in seconds.items():
        print(f"  {what:<44}{took:>10.1f} s")


def _compare_renju(
    variant: Variant, board: Stones, point: Point, counts: Counter[str], seconds: dict[str, float]
) -> None:
    own, other, cell = _sets(board, point)
    began = time.perf_counter()
    assert variant.forbids is not None
    found = variant.forbids(own, other, cell, 0)
    between = time.perf_counter()
    expected = kinds(board, point)
    seconds["quick"] += between - began
    seconds["slow"] += time.perf_counter() - between
    if (found is None) is bool(expected) or (found is not None and found not in expected):
        _differs(variant, board, point, found, expected)
    counts[found or ("five" if makes_five(board, point) else "allowed")] += 1
    for depth in (0, 1):
        if bool(kinds(board, point, depth)) != bool(expected):
            counts[f"wrong if completing points were asked {depth} deep"] += 1


def _compare_wins(variant: Variant, board: Stones, point: Point, expected: bool) -> None:
    own, other, cell = _sets(board, point)
    found = variant.completes(own | 1 << cell, cell, other)
    if found is not expected:
        _differs(variant, board, point, found, expected)


def _sets(board: Stones, point: Point) -> tuple[int, int, int]:
    own, other = (sum(1 << row * board.edge + column for column, row in side) for side in (board.own, board.other))
    return own, other, point[1] * board.edge + point[0]


def _differs(variant: Variant, board: Stones, point: Point, found: object, expected: object) -> None:
    marks = {**dict.fromkeys(board.own, "x"), **dict.fromkeys(board.other, "o"), point: "?"}
    rows = (" ".join(marks.get((column, row), ".") for column in range(board.edge)) for row in range(board.edge))
    sys.exit("\n".join(rows) + f"\n{variant.name}: {found}, by the definitions {expected}")


if __name__ == "__main__":
    main()
