"""Measure time and peak memory of writing games to Parquet and reading them again.

    python benchmarks/parquet.py [--games 1000000] [--rows games]

Invents GAMES gomoku games of 60 plies with times and seeds as JSON lines, converts them to Parquet, and converts a file
of games back. Prints for each conversion the time, the size of its output, and the peak memory of its largest process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from noughts_referee.rules import Draws

_PLIES = 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--rows", choices=["games", "moves", "positions"], default="games")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noughts-parquet-") as folder:
        lines, parquet, lines_again = (Path(folder, name) for name in ("games.jsonl", "games.parquet", "again.jsonl"))
        write_games(lines, arguments.games)
        print(f"{arguments.games:,} games, {lines.stat().st_size / 1e6:,.0f} MB as JSON lines")
        measure(["convert", str(lines), str(parquet), "--rows", arguments.rows], parquet)
        if arguments.rows == "games":
            measure(["convert", str(parquet), str(lines_again)], lines_again)


def write_games(file: Path, games: int) -> None:
    """Write invented games as JSON lines."""
    with file.open("w", encoding="ascii") as out:
        for number in range(games):
            draws, cells = Draws(7, number), list(range(225))
            moves = [cells.pop(draws.below(len(cells))) for _ in range(_PLIES)]
            times = [draws.below(2_000_000) / 1000 for _ in moves]
            game = {"variant": "gomoku", "first": f"bot{number % 7}", "second": f"bot{7 + number % 5}", "seed": number}
            game |= {"moves": moves, "result": "*", "termination": "void", "times_ms": times}
            out.write(json.dumps(game) + "\n")


def measure(words: list[str], output: Path) -> None:
    """Run `noughts records` with these words, and print its time, the size of its output, and its peak memory."""
    begin = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "noughts_server.cli", "records", *words])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    size = output.stat().st_size / 1e6
    print(
        f"{output.name}: {time.monotonic() - begin:.0f} s, {size:,.0f} MB, {usage.ru_maxrss / 1024:,.0f} MB of memory"
    )


if __name__ == "__main__":
    main()
