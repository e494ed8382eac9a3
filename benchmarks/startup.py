"""How soon commands are there: `noughts --help`, and the first game of `noughts match random random`.

Each round runs everything once, so that a machine that is busy for a while slows all of it; told are medians. The
yardsticks are a Python that does nothing, and one that loads what reads our options. Modules are compiled beforehand,
as they are where pip has installed them. Run: python benchmarks/startup.py
"""

import argparse
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

NOUGHTS = (sys.executable, "-m", "noughts_server.cli")
GAME = "first game of noughts match random random"
COMMANDS = {
    "python -c pass": (sys.executable, "-c", "pass"),
    'python -c "import typer"': (sys.executable, "-c", "import typer"),
    "noughts --help": (*NOUGHTS, "--help"),
}


class Run(NamedTuple):
    """Milliseconds."""

    wall: float
    processor: float
    """Of all the run's processes."""


def measured(command: Sequence[str]) -> Run:
    """Runs the command to its end."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"startup: {' '.join(command)} failed")
    return Run((time.perf_counter() - began) * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3)


def first_game() -> Run:
    """From the start of the command to the end of its only game, as the database tells it: it takes a few ms."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "games.db")
        began = time.time_ns() // 1_000_000  # the database tells the time of day
        run = measured((*NOUGHTS, "match", "random", "random", "--games", "1", "--db", str(database)))
        with closing(sqlite3.connect(database)) as connection:
            [(ended,)] = connection.execute("SELECT ended_at FROM games").fetchall()
        return Run(ended - began, run.processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    first_game()  # compiles what a change has left uncompiled
    runs: dict[str, list[Run]] = {name: [] for name in (*COMMANDS, GAME)}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            runs[name].append(measured(command))
        runs[GAME].append(first_game())
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}, load {load:.1f}")
    print(f"{'median of ' + str(rounds):44}{'ms':>7}{'least':>7}{'processor ms':>14}{'x import typer':>16}")
    yardstick = median(run.wall for run in runs['python -c "import typer"'])
    for name, found in runs.items():
        wall = median(run.wall for run in found)
        processor = median(run.processor for run in found)
        least = min(run.wall for run in found)
        print(f"{name:44}{wall:7.0f}{least:7.0f}{processor:14.0f}{wall / yardstick:16.1f}")


if __name__ == "__main__":
    main()
