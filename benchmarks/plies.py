"""The processor time of a ply, with all that belongs to it: server, bots, database.

A match of 100,000 games of 3x3 between two `random` bots, 1,024 at once, less one of 1,000 games, which takes as long
to start: user and system time of all processes together, divided by the plies of the other games. The processor's time
and not the clock's, for other work on the machine blurs it less. Runs alternate with a fixed loop of plain Python,
which says how fast the machine is just now; with `--other` also with another tree, for judging a change.

Usage: python benchmarks/plies.py [--runs 5] [--other FOLDER]   (FOLDER holds another version and its .venv)
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

GAMES, FEW_GAMES = 100_000, 1_000
PLIES_A_GAME = 7.6  # of random players, near enough: what is compared has the same games
LOOPS = 5_000_000


def yardstick() -> float:
    """Processor time of a fixed loop, in seconds."""
    began = time.process_time()
    number = 0
    for step in range(LOOPS):
        number = (number * 31 + step) & 0xFFFF
    return time.process_time() - began


def match(tree: Path | None, games: int) -> float:
    """Processor time of a match and all its processes, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    python = sys.executable if tree is None else str(tree / ".venv" / "bin" / "python")
    subprocess.run(
        [
            python, "-m", "noughts_server.cli", "match", "random", "random",
            "--games", str(games), "--concurrency", "1024", "--seed", "7", "--format", "json",
        ],
        check=True, capture_output=True, cwd="/",
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def microseconds_a_ply(tree: Path | None) -> float:
    return (match(tree, GAMES) - match(tree, FEW_GAMES)) / ((GAMES - FEW_GAMES) * PLIES_A_GAME) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--other", type=Path)
    options = parser.parse_args()
    trees: list[tuple[str, Path | None]] = [("this", None)]
    if options.other is not None:
        trees.insert(0, (options.other.name, options.other.resolve()))
    names = [name for name, _ in trees]
    print(f"{'':>6} {'loop, s':>8} " + " ".join(f"{name + ', us a ply':>22}" for name in names))
    rows = []
    for run in range(1, options.runs + 1):
        rows.append([yardstick(), *(microseconds_a_ply(tree) for _, tree in trees)])
        print(row_of(str(run), rows[-1]), flush=True)
    print(row_of("median", [statistics.median(column) for column in zip(*rows, strict=True)]))


def row_of(label: str, figures: list[float]) -> str:
    loop, *plies = figures
    return f"{label:>6} {loop:>8.3f} " + " ".join(f"{figure:>22.2f}" for figure in plies)


if __name__ == "__main__":
    main()
